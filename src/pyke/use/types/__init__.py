"""Predict missing types, with a measured confidence and an explanation.

Where a predicted type comes from, file by file:

1. `evidence.py`: the graph is embedded without its types, so that typed and untyped terms are
   compared in the same way.
2. `votes.py`: the nearest typed neighbours of a term vote for their classes; `numbers.py` says
   how much the number of triples in a role counts.
3. `kinds.py`: which typed subjects look like the queried terms?
4. `folds.py`: their types are withheld, a twentieth at a time.
5. `calibration.py`: how often are predictions for these correct? This is the confidence;
   `curves.py` has the mathematics.
6. `predict.py`: votes and confidence of every term.
7. `predictions.py`: the result, a sequence of `rows.py`; `write.py` writes it as RDF or as a table.

`explain.py` lists the votes for one term, and what it has in common with the voters. `report.py`
shows the calibration as a table and a figure. `held_out.py` withholds types, for measurements.
`sdtype.py` predicts types from roles alone, for comparison. `bins.py` is the calibration of
predicted facts.
"""
