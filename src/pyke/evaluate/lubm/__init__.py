"""The Lehigh University Benchmark (LUBM): graphs of universities, of any size.

The lines and their order are those of the benchmark's own generator.
"""

from pyke.evaluate.lubm.generate import (
    ONTOLOGY,
    Universities,
    Written,
    batches,
    lines,
    read,
    write,
)

__all__ = ["ONTOLOGY", "Universities", "Written", "batches", "lines", "read", "write"]
