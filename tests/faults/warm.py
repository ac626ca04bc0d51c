"""Loads the package and the kernels of a run into the server process of `runs`."""

from pathlib import Path

import pyke

pyke.embed(Path(__file__).parents[2] / "examples" / "father.ttl", dimensions=4)
