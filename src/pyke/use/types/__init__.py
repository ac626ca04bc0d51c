"""Predict missing types, with a measured confidence and an explanation.

Where a predicted type comes from, file by file:

1. `votes.py`: the nearest typed neighbours of a term vote for their classes.
2. `calibration.py`: how often are predictions with that many votes correct? Measured on subjects
   whose types were withheld (`held_out.py`). This is the confidence.
3. `predict.py`: votes and confidence of every term, and the threshold for predictions to keep.
4. `predictions.py`: the result; `write.py` writes it as RDF or as a table.

`sdtype.py` predicts types from roles alone, without vectors; `pyke compare` has it as a row.

`explain.py` lists the votes for one term, and what it has in common with the voters. `report.py`
shows the calibration as a table and a figure.
"""
