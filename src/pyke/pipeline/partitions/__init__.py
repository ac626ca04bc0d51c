"""Stages up to the springs as tasks on partitions of a graph, which pass on results by files.

A cluster runs many tasks at a time. One machine runs them one after another if the dictionary, the
triples or the springs do not fit into its memory.
"""
