"""The web explorer and its HTTP API: a page, answers in JSON, and coordinates as raw numbers.

How a request is answered, file by file:

1. `guard.py`: is it from this computer's own page, or does it have the token? Is it small?
2. `routes.py`: the table of addresses with their parameters, which `openapi.py` documents.
3. `api.py`, `maps.py`: the answers.
4. `explorer.py`: the embedding, and what is computed once in the background (`jobs.py`).

`pages.py` has the files of the page, `run.py` the server.
"""
