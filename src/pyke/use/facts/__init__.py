"""Predict missing facts, with a measured confidence, and suggest properties.

Where a predicted fact comes from, file by file:

1. `space.py`: the graph is embedded, and every subject is compared without its objects of the
   predicate that is predicted. The nearest subjects with this predicate vote for their objects.
2. `links.py`: terms that another predicate links with the subject are candidates, too.
3. `trial.py`: the same on the graph without a fifth of its facts: how often is this right?
4. `complete.py`: who lacks a predicate that similar entities have, which object gets the votes, and
   how sure is that?
5. `facts.py`: the result.

`explain.py` lists the votes for one subject. `suggest.py` lists the predicates that it lacks.
"""
