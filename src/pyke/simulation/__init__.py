"""The annealed simulation."""
