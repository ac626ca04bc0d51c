"""The answers of the explorer's API, compared with the embedding they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asking import Client
from graphs import LABEL, TYPE, crafts, graph_of
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.pipeline.embed import embed_graph
from pyke.use.serve import explorer as explorers
from pyke.use.serve import limits, predicted
from pyke.use.serve.api import title
from pyke.use.serve.application import application
from pyke.use.serve.child import Impossible
from pyke.use.serve.costs import costs
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.guard import Access
from pyke.use.serve.openapi import document
from pyke.use.serve.routes import ROUTES

LABELLED = crafts() + f'<http://e/baker/1> <{LABEL}> "Ada Lovelace" .\n'


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return embed_graph(graph_of(LABELLED), Config(dimensions=8))


@pytest.fixture(scope="module")
def client(embedding: Embedding) -> Iterator[Client]:
    explorer = Explorer(embedding)
    client = Client(application(explorer, Access(8000)))
    yield client
    explorer.stop()
    client.close()


@pytest.fixture
def ada(embedding: Embedding) -> int:
    return embedding.lookup().find("Ada Lovelace")


def test_info_counts_the_graph(client: Client, embedding: Embedding) -> None:
    info = client.get("/api/info").json
    assert (info["terms"], info["dimensions"]) == (len(embedding), 8)
    assert (info["typed_subjects"], info["classes"]) == (61, 3)
    assert len(info["history"]) == len(embedding.manifest["history"])


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (["/data/Brick-1.4.ttl"], "Brick-1.4"),
        (["a.b.NT.GZ", "b.nt"], "a.b and 1 more"),
        (["folder/"], "folder"),
        ([".ttl"], "graph"),
        ([], "graph"),
    ],
)
def test_the_title_is_the_name_of_the_file(inputs: list[str], expected: str) -> None:
    named = embed_graph(graph_of(crafts()), Config(dimensions=2))
    named.manifest["inputs"] = inputs
    assert title(Explorer(named)) == expected


def test_the_first_answer_is_computed_with_the_predictions(
    embedding: Embedding, ada: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, name in (("types", "explain_with"), ("facts", "explain_facts_with")):
        asked: list[int] = []
        explain = getattr(predicted, name)

        def explained(*given: Any, to: Any = explain, seen: list[int] = asked) -> Any:
            seen.append(given[2])
            return to(*given)

        monkeypatch.setattr(predicted, name, explained)
        explorer = Explorer(embedding)
        client = Client(application(explorer, Access(8000)))
        assert client.finished(f"/api/{kind}?term={ada}").status == 200
        assert asked == [ada, ada]  # in the background, where tables are built, and for the answer
        explorer.stop()
        client.close()


def test_search_finds_labels_and_shows_types(client: Client, ada: int) -> None:
    found = client.finished("/api/search?q=lovel").json
    assert found["matches"] == 1
    assert found["terms"] == [
        {"id": ada, "iri": "http://e/baker/1", "label": "Ada Lovelace", "name": "Ada Lovelace",
         "types": ["baker"]}
    ]  # fmt: skip


def test_a_term_has_names_types_and_triples_on_both_sides(
    client: Client, embedding: Embedding, ada: int
) -> None:
    term = client.get(f"/api/terms/{ada}").json
    assert [kind["name"] for kind in term["types"]] == ["baker"]
    triples = embedding.triples
    for side, own, other in (("out", 0, 2), ("in", 2, 0)):
        rows = triples[triples[:, own] == ada]
        assert term[side]["total"] == len(rows)
        shown = [(one["predicate"]["id"], one["term"]["id"]) for one in term[side]["triples"]]
        assert sorted(shown) == sorted(map(tuple, rows[:, [1, other]].tolist()))


def test_pages_of_triples_give_each_triple_once(client: Client, embedding: Embedding) -> None:
    baker = embedding.terms.find("http://e/baker")
    found = []
    for offset in range(0, 30, 7):
        page = client.get(f"/api/terms/{baker}/triples?side=in&offset={offset}&limit=7").json
        assert page["total"] == 21
        found += [one["term"]["id"] for one in page["triples"]]
    assert sorted(found) == sorted(embedding.triples[embedding.triples[:, 2] == baker, 0].tolist())


def test_a_literal_object_is_shown_as_one() -> None:
    text = f'<http://e/a> <http://e/p> "x" .\n<http://e/a> {TYPE} <http://e/C> .\n'
    embedding = embed_graph(
        graph_of(text, count_literals=True), Config(dimensions=4, count_literals=True)
    )
    client = Client(application(Explorer(embedding), Access(8000)))
    a = embedding.terms.find("http://e/a")
    terms = [one["term"] for one in client.get(f"/api/terms/{a}").json["out"]["triples"]]
    assert None in terms
    assert client.get(f"/api/terms/{embedding.terms.find('http://e/C')}").json["in"]["total"] == 1
    client.close()


@pytest.mark.parametrize("is_large", [False, True])
def test_neighbours_are_those_of_the_embedding(
    client: Client, embedding: Embedding, ada: int, is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Explorer(embedding)
    if is_large:
        monkeypatch.setattr(explorers, "COMPARE_ALL_UP_TO", 10)
        assert fresh.neighbour_index.wait(60)
    one = Client(application(fresh, Access(8000)))
    found = one.get(f"/api/nearest?term={ada}&k=7").json["neighbours"]
    one.close()
    true = embedding.nearest("Ada Lovelace", k=7)
    assert [neighbour["iri"] for neighbour in found] == [neighbour.term for neighbour in true]
    assert np.allclose([neighbour["distance"] for neighbour in found], [n.distance for n in true])


def test_neighbours_can_be_of_one_class(client: Client, embedding: Embedding, ada: int) -> None:
    smith = embedding.terms.find("http://e/smith")
    found = client.get(f"/api/nearest?term={ada}&k=5&among={smith}").json["neighbours"]
    true = embedding.nearest("Ada Lovelace", k=5, among="smith")
    assert [neighbour["iri"] for neighbour in found] == [neighbour.term for neighbour in true]
    uses = embedding.terms.find("http://e/uses")
    assert client.get(f"/api/nearest?term={ada}&among={uses}").status == 404


def test_more_neighbours_than_terms_are_all_terms(client: Client, embedding: Embedding) -> None:
    found = client.get(f"/api/nearest?term=0&k={limits.MAX_NEIGHBOURS}").json["neighbours"]
    assert len(found) == len(embedding) - 1


def test_predicted_types_have_a_confidence_and_say_why(client: Client, ada: int) -> None:
    found = client.finished(f"/api/types?term={ada}").json
    best = found["types"][0]
    assert (best["name"], best["stated"]) == ("baker", True)
    assert 0 <= best["confidence"] <= 1
    assert found["voters"]
    assert found["shared"][0]["predicate"]["name"] in ("knows", "uses")


def test_a_graph_without_types_says_so() -> None:
    text = "".join(f"<http://e/{n}> <http://e/p> <http://e/{n % 3}> .\n" for n in range(9))
    embedding = embed_graph(graph_of(text), Config(dimensions=4))
    explorer = Explorer(embedding)
    client = Client(application(explorer, Access(8000)))
    answer = client.finished("/api/types?term=0")
    assert (answer.status, answer.json["error"]["code"]) == (409, "impossible")
    assert "No subject of this graph has a type" in answer.json["error"]["message"]
    legend = client.get("/api/legend?by=type").json["groups"]
    assert [(one["name"], one["count"]) for one in legend] == [("no type", len(embedding))]
    client.close()


@pytest.mark.parametrize("layout", ["components", "simulation"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_are_raw_numbers(
    client: Client, embedding: Embedding, layout: str, dimensions: int
) -> None:
    body = client.finished(f"/api/points?layout={layout}&dimensions={dimensions}").body
    head = np.frombuffer(body, "<u4", 2)
    assert head.tolist() == [len(embedding), dimensions]
    ids = np.frombuffer(body, "<u4", len(embedding), 8)
    assert ids.tolist() == list(range(len(embedding)))
    points = np.frombuffer(body, "<f4", offset=8 + ids.nbytes).reshape(-1, dimensions)
    assert len(points) == len(embedding)
    assert np.isfinite(points).all()


def test_a_sample_of_points_is_part_of_every_larger_one(client: Client) -> None:
    samples = []
    for limit in (10, 40):
        body = client.get(f"/api/points?limit={limit}").body
        assert np.frombuffer(body, "<u4", 1)[0] == limit
        samples.append(set(np.frombuffer(body, "<u4", limit, 8).tolist()))
    assert samples[0] < samples[1]


def test_a_box_has_the_points_inside_it(client: Client, embedding: Embedding) -> None:
    whole = client.get("/api/points").body
    points = np.frombuffer(whole, "<f4", offset=8 + 4 * len(embedding)).reshape(-1, 2)
    inside = np.flatnonzero(((points >= 0) & (points <= 9)).all(axis=1))
    body = client.get("/api/points?box=0,0,9,9").body
    assert 0 < len(inside) < len(embedding)
    assert np.frombuffer(body, "<u4", len(inside), 8).tolist() == inside.tolist()
    few = client.get("/api/points?box=0,0,9,9&limit=2").body
    assert np.frombuffer(few, "<u4", 1)[0] == 2


@pytest.mark.parametrize("by", ["type", "cluster", "namespace"])
def test_groups_are_positions_in_the_legend(client: Client, embedding: Embedding, by: str) -> None:
    legend = client.finished(f"/api/legend?by={by}").json["groups"]
    groups = np.frombuffer(client.get(f"/api/groups?by={by}").body, np.uint8)
    assert len(groups) == len(embedding)
    counts = np.bincount(groups, minlength=len(legend)).tolist()
    assert counts == [one["count"] for one in legend]


def test_labels_are_of_entities_in_the_box_and_in_shown_groups(
    client: Client, embedding: Embedding
) -> None:
    labels = client.get("/api/labels").json["labels"]
    entities = set(embedding.entities.tolist())
    assert {one["id"] for one in labels} <= entities
    assert len({one["text"] for one in labels}) == len(labels)
    inside = client.get("/api/labels?box=0,0,9,9").json["labels"]
    assert inside
    assert all(min(one["at"]) >= 0 for one in inside)
    groups = np.frombuffer(client.get("/api/groups").body, np.uint8)
    rest = client.get("/api/labels?hide=0").json["labels"]
    assert rest
    assert all(groups[one["id"]] != 0 for one in rest)


def test_names_are_returned_in_the_order_of_the_ids(client: Client, ada: int) -> None:
    found = client.get(f"/api/names?ids=3,{ada},0").json["terms"]
    assert [one["id"] for one in found] == [3, ada, 0]
    assert client.get("/api/names?ids=999999").status == 404


def test_the_openapi_document_lists_every_route_with_its_limits(client: Client) -> None:
    described = client.get("/api/openapi.json").json
    assert described == document()
    assert set(described["paths"]) == {route.path for route in ROUTES}
    names = [path["get"]["operationId"] for path in described["paths"].values()]
    assert len(set(names)) == len(names)
    (k,) = [
        one for one in described["paths"]["/api/nearest"]["get"]["parameters"] if one["name"] == "k"
    ]
    assert k["schema"] == {
        "type": "integer", "minimum": 1, "maximum": limits.MAX_NEIGHBOURS, "default": 10
    }  # fmt: skip


def test_head_requests_have_no_body_but_the_headers(client: Client) -> None:
    answer = client.get("/api/info", method="HEAD")
    assert answer.status == 200


def test_an_unchanged_file_of_the_page_is_not_sent_again(client: Client) -> None:
    first = client.get("/static/docs.js")
    again = client.get(
        "/static/docs.js", {"host": "127.0.0.1:8000", "if-none-match": first.headers["etag"]}
    )
    assert (again.status, again.body) == (304, b"")


def test_predicted_facts_have_a_confidence(client: Client, ada: int) -> None:
    found = client.finished(f"/api/facts?term={ada}").json
    assert found["term"]["id"] == ada
    for one in found["facts"]:
        assert 0 <= one["likelihood"] <= 1
        assert all(0 <= other["confidence"] <= 1 for other in one["objects"])


def test_forces_have_places_on_the_map(client: Client, embedding: Embedding, ada: int) -> None:
    found = client.finished(f"/api/forces?term={ada}").json
    points = np.frombuffer(client.get("/api/points").body, "<f4", offset=8 + 4 * len(embedding))
    low, high = points.min(), points.max()
    assert found["springs"]
    assert found["repellers"]
    for one in (*found["springs"], *found["repellers"]):
        assert all(low <= x <= high for x in one["at"])
    sigmas = [one["sigma"] for one in found["springs"]]
    assert sigmas == sorted(sigmas, reverse=True)
    assert min(sigmas) > 0


def test_the_film_ends_where_the_embedding_is(client: Client, embedding: Embedding) -> None:
    body = client.finished("/api/film").body
    frames, count, dimensions = np.frombuffer(body, "<u4", 3).tolist()
    assert (count, dimensions) == (len(embedding), 2)
    iterations = np.frombuffer(body, "<u4", frames, 12).tolist()
    assert (iterations[0], iterations[-1]) == (0, len(embedding.manifest["history"]))
    start = 12 + 4 * (frames + count)
    film = np.frombuffer(body, "<f4", offset=start).reshape(frames, count, 2)
    end = np.frombuffer(client.get("/api/points").body, "<f4", offset=8 + 4 * count)
    assert np.allclose(film[-1], end.reshape(-1, 2), atol=1e-4)


def test_an_updated_embedding_has_no_film(embedding: Embedding) -> None:
    updated = replace(embedding, manifest=embedding.manifest | {"updates": [{"added": 1}]})
    client = Client(application(Explorer(updated), Access(8000)))
    answer = client.finished("/api/film")
    assert (answer.status, answer.json["error"]["code"]) == (409, "impossible")
    client.close()


def test_another_embedding_is_compared(embedding: Embedding) -> None:
    other = embed_graph(graph_of(crafts()), Config(dimensions=6, seed=3))
    client = Client(application(Explorer(embedding, other), Access(8000)))
    assert client.get("/api/info").json["compared"]
    found = client.finished("/api/compare?limit=20").json
    assert (found["common"], found["only_here"], found["only_there"]) == (len(embedding), 0, 0)
    moved = [one["moved"] for one in found["moved"]]
    assert moved == sorted(moved, reverse=True)
    assert all(0 <= one["kept"] <= 10 for one in found["moved"])
    body = client.get("/api/compare/points").body
    assert np.frombuffer(body, "<u4", 2).tolist() == [len(embedding), 2]
    client.close()


def test_without_another_embedding_there_is_nothing_to_compare(client: Client) -> None:
    assert client.finished("/api/compare").status == 409


def test_a_job_that_fails_says_so_and_the_next_one_runs(
    embedding: Embedding, caplog: pytest.LogCaptureFixture
) -> None:
    explorer = Explorer(embedding)

    def broken(_: object) -> None:
        raise RuntimeError("/secret/path")

    job = explorer.job("broken", broken)
    assert job.wait(10)
    with pytest.raises(Impossible, match="an error in PYKE"):
        job.result()
    assert "/secret/path" in caplog.text
    assert explorer.job("next", lambda _: 5).wait(10)
    assert explorer.job("next", lambda _: 6).result() == 5


def test_jobs_stop_with_the_server(embedding: Embedding) -> None:
    explorer = Explorer(embedding)
    explorer.stop()
    job = explorer.job("late", lambda progress: progress.stage("a stage"))
    assert job.wait(10)
    with pytest.raises(Impossible, match="stopping"):
        job.result()


def test_costs_of_predictions_grow_with_the_graph(embedding: Embedding) -> None:
    small = costs(Explorer(embedding))
    assert 0.19e9 < small["types"] < 0.25e9
    assert 0.19e9 < small["facts"] < 0.25e9
    assert small["seconds"] == pytest.approx(
        sum(one["seconds"] for one in embedding.manifest["stages"])
    )
    large = replace(embedding, manifest={"particles": 10**6})
    assert costs(Explorer(large))["types"] - small["types"] > 4 * 8 * 10**6
    assert costs(Explorer(large))["seconds"] is None
