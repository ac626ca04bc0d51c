"""Inputs to batches of statements: files in any RDF syntax, Python objects, SPARQL endpoints."""
