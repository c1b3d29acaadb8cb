"""A set by its name on the hub, which a local server stands for: the command reads it, and says what there is not."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from headlight.model.experiments.results import read_results
from tests.model.checkpoints.test_hub import Hub, handler
from tests.places import ROOT

NOUNS = ("girl", "dog", "cat", "bird", "boy")


class DataSets(Hub):
    """A repository of data sets, whose addresses differ from a model's."""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a request."""
        path = path.partition("?")[0]
        if path.endswith(f"/tree/{self.commit}/data"):
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return super().answer(path.replace("/api/datasets/", "/api/models/").replace("/datasets/", "/"))


@pytest.fixture
def hub() -> Iterator[DataSets]:
    rows = [
        {"clean": f"The {noun} near the houses", "corrupted": f"The {noun}s near the houses"}
        | {"answers": [" is"], "wrong_answers": [" are"]}
        for noun in NOUNS
    ]
    served = DataSets("owner/pairs", {"pairs.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(served))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    served.endpoint = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


def measured(hub: DataSets, name: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "headlight.app.experiment", "mini", name, "--measure", "dla"]
    environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "0"}
    return subprocess.run(
        [*command, "--out", str(folder / "out")], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.thorough
def test_a_set_of_the_hub_is_measured_by_its_name(hub: DataSets, tmp_path: Path) -> None:
    done = measured(hub, "owner/pairs", tmp_path)
    assert done.returncode == 0, done.stderr
    results = read_results(tmp_path / "out")
    assert results.is_complete
    assert (results.set_name, len(results.measurement.rows)) == ("pairs", 5)
    missing = measured(hub, "owner/others", tmp_path)
    assert missing.returncode == 1
    assert "The experiment cannot go on. others: The datasets library cannot open owner/others" in missing.stderr
