"""The simulation: the force law (forces.py) and its annealing (anneal.py)."""
