"""Answers with predictions: types and facts that a term lacks, each with its confidence and why."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.use.facts import complete as facts_complete
from pyke.use.facts.explain import FactExplanation, explain_facts_with
from pyke.use.serve.answers import finished_json, json_bytes
from pyke.use.serve.child import Answer, Impossible
from pyke.use.serve.explorer import Explorer
from pyke.use.types.explain import Explanation, Shared, Voter, explain_with
from pyke.use.types.predict import prepare

MAX_PREDICATES = 8
MAX_SHOWN = 20  # predicted types, facts, voters and common properties in an answer


def types(explorer: Explorer, term: int) -> Response:
    """Types that the nearest typed subjects have, with measured confidence, and why."""
    explorer.check_term(term)
    return finished_json(explorer.answering("types", prepare_types, term).result()(term))


def prepare_types(explorer: Explorer, first: int, progress: Progress) -> Answer:
    """Measure the confidence of predicted types; `first` is the term of the first question."""
    e = explorer.embedding
    if not len(explorer.types):
        raise Impossible("No subject of this graph has a type, so no types can be predicted.")
    made = prepare(e, None, None, False, None, None, progress)
    with suppress(NothingToScore):  # the first answer builds tables: requests do not wait
        explain_with(made, e, first, progress)

    def answer(term: int) -> bytes:
        why = explain_with(made, e, term, Progress())
        return json_bytes({"term": explorer.named([term])[0]} | _explained(explorer, why))

    return answer


def facts(explorer: Explorer, term: int) -> Response:
    """Facts that a term lacks though its like have them, with measured confidence, and why."""
    explorer.check_term(term)
    return finished_json(explorer.answering("facts", prepare_facts, term).result()(term))


def prepare_facts(explorer: Explorer, first: int, progress: Progress) -> Answer:
    """Measure the confidence of predicted facts; `first` is the term of the first question."""
    e = explorer.embedding
    made = facts_complete.prepare(e, None, None, None, None, progress)
    with suppress(NothingToScore):  # as above
        explain_facts_with(made, e, first, False, progress)

    def answer(term: int) -> bytes:
        found = explain_facts_with(made, e, term, False, Progress())
        shown = [_fact(explorer, one) for one in found[:MAX_PREDICATES]]
        return json_bytes({"term": explorer.named([term])[0], "facts": shown})

    return answer


def _fact(explorer: Explorer, one: FactExplanation) -> dict[str, Any]:
    return {
        "predicate": _term(explorer, one.predicate),
        "likelihood": one.likelihood,
        "voters_asked": len(one.voters),
        "objects": [
            _term(explorer, candidate.object)
            | {
                "votes": candidate.votes,
                "share": candidate.share,
                "confidence": candidate.confidence,
                "stated": candidate.stated,
                "link": candidate.link and _term(explorer, candidate.link.predicate),
            }
            for candidate in one.candidates[:MAX_SHOWN]
        ],
        "voters": [_voter(explorer, voter) for voter in one.voters[:MAX_SHOWN]],
        "shared": [_shared(explorer, shared) for shared in one.shared[:MAX_SHOWN]],
    }


def _explained(explorer: Explorer, why: Explanation) -> dict[str, Any]:
    return {
        "status": why.status,
        "voters_asked": len(why.voters),
        "types": [
            _term(explorer, vote.type)
            | {
                "votes": vote.votes,
                "share": vote.share,
                "confidence": vote.confidence,
                "stated": vote.stated,
                "measured_on": [asdict(like) for like in vote.alike],
            }
            for vote in why.votes[:MAX_SHOWN]
        ],
        "voters": [_voter(explorer, voter) for voter in why.voters[:MAX_SHOWN]],
        "shared": [_shared(explorer, one) for one in why.shared[:MAX_SHOWN]],
    }


def _voter(explorer: Explorer, voter: Voter) -> dict[str, Any]:
    return _term(explorer, voter.term) | {
        "distance": voter.distance,
        "overlap": voter.overlap,
        "weight": voter.weight,
        "types": [_term(explorer, kind)["name"] for kind in voter.types],
        "in_common": voter.shared,
    }


def _shared(explorer: Explorer, one: Shared) -> dict[str, Any]:
    return {
        "predicate": _term(explorer, one.predicate),
        "other": None if one.other is None else _term(explorer, one.other),
        "is_subject": one.is_subject,
        "voters": one.voters,
        "terms": one.terms,
    }


def _term(explorer: Explorer, iri: str) -> dict[str, Any]:
    return explorer.named([explorer.embedding.terms.find(iri)])[0]
