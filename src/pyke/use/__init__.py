"""What people do with an embedding: neighbours, types, clusters, maps, exports, the explorer."""
