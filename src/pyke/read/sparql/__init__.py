"""Download all triples of a SPARQL endpoint."""
