"""Other methods that compute one vector per term, for comparison with PYKE.

Each method runs in its own process, so time and memory of one do not affect the next. The
libraries come with `pip install 'pyke-embeddings[baselines]'`. `register` adds a method.
"""

from pyke.evaluate.rivals.builtin import SETTINGS
from pyke.evaluate.rivals.registry import METHODS, Job, Method, method, names, register, title

__all__ = ["METHODS", "SETTINGS", "Job", "Method", "method", "names", "register", "title"]
