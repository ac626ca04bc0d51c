"""Shared by all stages: files, inputs, threads, memory, compilation, hashing, random numbers."""
