"""Object storage: a run on s3:// URLs, with a server of the moto project on this computer.

`pip install s3fs 'moto[server]'` to run it; these are too many libraries for every test run.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from typing import Any

import fsspec
import numpy as np
import pytest

import pyke
from graphs import random_graph
from pyke.config import Config
from pyke.errors import NoInput, OutputExists
from pyke.pipeline.distributed.cluster import local_cluster
from pyke.pipeline.distributed.directory import embed_to, embed_with
from pyke.pipeline.partitions.executor import InProcess

pytest.importorskip("s3fs", reason="needs s3fs and moto[server]")
moto_server = pytest.importorskip("moto.server", reason="needs s3fs and moto[server]")

# moto, boto and s3fs leave warnings to their users.
pytestmark = pytest.mark.filterwarnings("default")
CONFIG = Config(dimensions=8, threads=1, max_iterations=5, checkpoint_seconds=0)


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """A file system with an empty bucket; workers find the server by variables."""
    server = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        system = fsspec.filesystem("s3", use_listings_cache=False)
        system.mkdir("bucket")
        yield system
    server.stop()


@pytest.fixture(scope="module")
def text(s3: Any) -> str:
    made = random_graph(1500)
    s3.pipe_file("bucket/graph.nt", made.encode())
    return made


@pytest.fixture(scope="module")
def expected(text: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("graph") / "graph.nt"
    path.write_text(text)
    return pyke.embed(str(path), dimensions=8, threads=1, max_iterations=5).vectors


def check(s3: Any, folder: str, expected: Any) -> None:
    vectors = np.load(io.BytesIO(s3.cat_file(f"{folder}/vectors.npy")))
    assert np.array_equal(vectors, expected)
    manifest = json.loads(s3.cat_file(f"{folder}/manifest.json"))
    for name, entry in manifest["files"].items():
        assert s3.size(f"{folder}/{name}") == entry["bytes"]
    parent, name = folder.rsplit("/", 1)
    assert not s3.exists(f"{parent}/.{name}.pyke")


def test_a_bucket_gives_the_bits_of_one_machine(s3: Any, expected: Any) -> None:
    url, inputs = "s3://bucket/here", "s3://bucket/graph.nt"
    embed_with(InProcess(), 3, url, inputs, CONFIG)
    check(s3, "bucket/here", expected)
    with pytest.raises(OutputExists, match="s3://bucket/here exists"):
        embed_with(InProcess(), 3, url, inputs, CONFIG)
    embed_with(InProcess(), 3, url, inputs, CONFIG, force=True)


def test_worker_processes_share_a_bucket(s3: Any, expected: Any) -> None:
    assert "AWS_ENDPOINT_URL" in os.environ
    with local_cluster(2) as client:
        embed_to("s3://bucket/there", "s3://bucket/graph.nt", CONFIG, client)
    check(s3, "bucket/there", expected)


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("url", ["s3://bucket/missing.nt", "s3://no-such-bucket/graph.nt"])
def test_a_missing_object_is_an_error(url: str) -> None:
    with pytest.raises(NoInput, match=f"cannot read {url}"):
        embed_with(InProcess(), 1, "s3://bucket/none", url, CONFIG)
