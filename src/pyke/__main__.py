"""python -m pyke."""

from pyke.cli import main

main()
