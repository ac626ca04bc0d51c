"""What people do with an embedding: neighbours, types, clusters, maps, exports, scikit-learn."""
