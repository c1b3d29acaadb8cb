"""Fetching from a small server on this machine that speaks the hub's protocol, with every way it can fail."""

import errno
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import torch

from headlight.model import load
from headlight.model.base.errors import CheckpointError, HeadlightError, ModelNotFoundError, TooLargeError
from headlight.model.checkpoints import downloads, hub
from headlight.model.checkpoints.loading import is_here
from headlight.model.lens.files import read_lens
from headlight.model.lens.opening import located
from headlight.model.runs.host import Host
from tests.model.checkpoints.gguf_files import write_gguf
from tests.model.checkpoints.test_gguf import difference, logits, noisy
from tests.model.oracles import ATOL, RTOL, random_gpt2, random_tokens
from tests.model.text.test_tokenizer import small_backend
from tests.places import ROOT

VOCABULARY = 300  # small_backend's
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = COMMIT[::-1]
NOBODY = "http://127.0.0.1:9"  # a port that nobody listens on


@dataclass
class Hub:
    """One repository at one commit, and what was asked for."""

    repository: str
    files: dict[str, bytes]
    commit: str = COMMIT
    requests: list[str] = field(default_factory=list)
    cut_after: int | None = None  # bytes of the weights after which the connection breaks
    endpoint: str = ""
    pause: float = 0.0  # seconds before the second half of a file of weights

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a request."""
        if match := re.fullmatch(rf"/api/models/{self.repository}(?:/revision/(.+))?", path):
            return self._at(match[1], self._json({"id": self.repository, "sha": self.commit, "siblings": []}))
        if match := re.fullmatch(rf"/api/models/{self.repository}/tree/([^?]+).*", path):
            tree = [
                {"type": "file", "path": name, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}
                for name, body in self.files.items()
            ]
            return self._at(match[1], self._json(tree))
        if match := re.fullmatch(rf"/{self.repository}/resolve/([^/]+)/(.+)", path):
            if match[2] not in self.files:
                return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": self.commit}, b""
            body = self.files[match[2]]
            headers = {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": self.commit}
            return self._at(match[1], (200, headers, body))
        return 401, {"X-Error-Code": "RepoNotFound"}, b""

    def _at(self, revision: str | None, answer: tuple[int, dict[str, str], bytes]) -> tuple[int, dict[str, str], bytes]:
        if revision in (None, "main", self.commit):
            return answer
        return 404, {"X-Error-Code": "RevisionNotFound"}, b""

    @staticmethod
    def _json(content: object) -> tuple[int, dict[str, str], bytes]:
        return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()


def handler(served: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._send(body_too=False)

        def do_GET(self) -> None:
            self._send(body_too=True)

        def _send(self, body_too: bool) -> None:
            served.requests.append(f"{self.command} {self.path}")
            status, headers, body = served.answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if body_too:
                cut = served.cut_after if self.path.endswith(".safetensors") else None
                sent = body[:cut]
                half = len(sent) // 2 if self.path.endswith(".safetensors") else 0
                self.wfile.write(sent[:half])
                time.sleep(served.pause if half else 0)
                self.wfile.write(sent[half:])
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folder = tmp_path / "made"
    random_gpt2(vocab_size=VOCABULARY).save_pretrained(folder, max_shard_size="5KB")
    small_backend().save(str(folder / "tokenizer.json"))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files |= {"pytorch_model.bin": b"a pickle", "README.md": b"hello", "onnx/model.safetensors": b"?"}
    served = Hub("owner/tiny", files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(served))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    served.endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", served.endpoint)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits longer and longer between its attempts."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def assert_opens(name: str, commit: str = COMMIT, **how: str) -> None:
    model, tokens = load(name, **how), random_tokens()
    with torch.no_grad():
        # Float32 sums in another order, as everywhere.
        torch.testing.assert_close(
            model(tokens), random_gpt2(vocab_size=VOCABULARY)(tokens).logits, rtol=RTOL, atol=ATOL
        )
    assert (model.source.name, model.source.revision, model.source.path.name) == (name, commit, commit)
    assert model.to_string(model.to_tokens("the cat")) == "the cat"


def test_a_model_is_fetched_and_its_commit_recorded(served: Hub) -> None:
    assert_opens("owner/tiny")


def test_only_files_that_are_read_are_fetched(served: Hub) -> None:
    load("owner/tiny")
    fetched = {request.rpartition("/")[2] for request in served.requests if "/resolve/" in request}
    assert fetched == set(served.files) - {"pytorch_model.bin", "README.md", "onnx/model.safetensors"}
    assert not [request for request in served.requests if "onnx" in request]


def test_a_lens_is_fetched_from_a_folder_of_a_repository(served: Hub) -> None:
    own = {name: (ROOT / "assets/lenses/mini/tuned" / name).read_bytes() for name in ("config.json", "params.pt")}
    served.files |= {f"lens/mini/{name}": content for name, content in own.items()}
    folder = located("tuned", "owner/tiny/lens/mini", load("mini").source)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == own
    assert read_lens("tuned", folder).reads(4) == (0, 1, 2, 3, 4)
    assert not [path for path in served.requests if "safetensors" in path]
    with pytest.raises(CheckpointError):
        located("jacobian", "owner/tiny/lens/mini", load("mini").source)


def test_what_is_on_the_disk_is_opened_without_a_request(served: Hub) -> None:
    load("owner/tiny")
    served.requests.clear()
    assert_opens("owner/tiny")
    assert_opens("owner/tiny", revision=COMMIT)
    assert not served.requests


def test_a_branch_is_asked_for_again(served: Hub) -> None:
    load("owner/tiny")
    served.commit = OTHER_COMMIT
    assert_opens("owner/tiny")
    assert_opens("owner/tiny", OTHER_COMMIT, revision="main")


def test_a_branch_is_opened_from_the_disk_where_there_is_no_network(
    served: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    load("owner/tiny")
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    assert_opens("owner/tiny", revision="main")


def test_gpt2_s_own_names_stand_for_one_commit(served: Hub, tmp_path: Path) -> None:
    served.repository, served.commit = hub.PINNED["gpt2"]
    assert_opens("gpt2", served.commit)
    assert not [request for request in served.requests if "main" in request]
    served.requests.clear()
    # The folder that other programs make, which ask for it by its short name.
    (tmp_path / "cache" / "models--openai-community--gpt2").rename(tmp_path / "cache" / "models--gpt2")
    assert_opens("gpt2", served.commit)
    assert not served.requests


def test_commits_are_whole_hashes() -> None:
    assert all(hub.COMMIT.fullmatch(commit) and hub.is_hub_name(name) for name, commit in hub.PINNED.values())


def test_what_another_program_left_incomplete_is_completed(served: Hub, tmp_path: Path) -> None:
    load("owner/tiny")
    snapshot = tmp_path / "cache" / "models--owner--tiny" / "snapshots" / COMMIT
    for name in ("tokenizer.json", "model-00002-of-00005.safetensors"):
        (snapshot / name).unlink()
        served.requests.clear()
        assert_opens("owner/tiny")
        assert (snapshot / name).is_file()


def test_what_an_older_program_left_incomplete_is_completed(served: Hub, tmp_path: Path) -> None:
    """Without a list of the repository's files beside it, the client takes any snapshot folder for complete."""
    repository = tmp_path / "cache" / "models--owner--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "snapshots" / COMMIT).mkdir(parents=True)
    (repository / "snapshots" / COMMIT / "config.json").write_bytes(served.files["config.json"])
    assert_opens("owner/tiny")


def test_a_model_that_the_hub_does_not_have_is_refused(served: Hub) -> None:
    for name in ("owner/other", "not--allowed/there"):
        with pytest.raises(ModelNotFoundError, match=f"has no model '{name}', or it is private: check the name"):
            load(name)


def test_a_revision_that_the_hub_does_not_have_is_refused(served: Hub) -> None:
    for revision in ("v2", OTHER_COMMIT):
        with pytest.raises(ModelNotFoundError, match=f"owner/tiny has no revision '{revision}'"):
            load("owner/tiny", revision=revision)


@pytest.mark.parametrize("name", ["gpt2", "owner/tiny"])
def test_without_a_network_the_message_says_what_to_do_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("the client waits before another attempt"))
    with pytest.raises(ModelNotFoundError, match=r"could not be fetched.*Check the network.*give its path"):
        load(name)


@pytest.mark.parametrize("kind", [TypeError, AttributeError, RuntimeError, HeadlightError])
def test_an_error_that_is_not_the_networks_is_passed_on(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="ours"), downloads.explained("owner/tiny", None):
        raise kind("ours")


def test_a_full_disk_is_no_fault_of_the_network() -> None:
    with (
        pytest.raises(TooLargeError, match=r"No space left on device.*HF_HOME"),
        downloads.explained("owner/tiny", None),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_the_clients_own_downloader_raises_is_the_networks() -> None:
    """It is compiled, and raises RuntimeError through the client's Python."""
    client: Any = types.ModuleType("huggingface_hub.file_download")
    exec("def get():\n    raise RuntimeError('CAS service error')", vars(client))
    with pytest.raises(ModelNotFoundError, match="Check the network"), downloads.explained("owner/tiny", None):
        client.get()


def test_a_repository_without_a_config_is_refused(served: Hub) -> None:
    del served.files["config.json"]
    with pytest.raises(CheckpointError, match=r"owner/tiny has no config\.json.*give the path"):
        load("owner/tiny")


def test_a_gguf_file_of_a_repository_opens_by_name(
    served: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = noisy("llama")
    write_gguf(tmp_path / "one.gguf", "llama", theirs)
    write_gguf(tmp_path / "two.gguf", "llama", theirs, in_part=16)
    ggufs = {path.name: path.read_bytes() for path in tmp_path.glob("*.gguf")}
    served.files = {"README.md": b"hello"} | ggufs
    with pytest.raises(
        CheckpointError, match=r"no config\.json\. It has GGUF files: one\.gguf, .*as owner/tiny:one\.gguf"
    ):
        load("owner/tiny")
    with pytest.raises(
        CheckpointError, match=r"has no three\.gguf\. It has GGUF files: one\.gguf, two-00001-of-00002\.gguf"
    ):
        load("owner/tiny:three.gguf")
    served.files["config.json"] = b'{"model_type": "llama"}'
    with pytest.raises(CheckpointError, match=r"no weights as safetensors\. It has GGUF files: one\.gguf"):
        load("owner/tiny")
    for name, n_files in {"owner/tiny:one.gguf": 1, "owner/tiny:two-00002-of-00002.gguf": 2}.items():
        assert not is_here(name)
        served.requests.clear()
        model = load(name)
        assert (
            len([request for request in served.requests if request.startswith("GET") and "/resolve/" in request])
            == n_files
        )
        assert difference(logits(model), logits(theirs)) < 1e-5  # float32 sums in another order
        assert (model.source.name, model.source.revision) == (name, COMMIT)
        assert is_here(name)
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    load("owner/tiny:one.gguf")


@pytest.mark.usefixtures("no_waiting")
def test_a_broken_download_is_refused_and_the_next_one_completes_it(served: Hub) -> None:
    served.cut_after = 700
    with pytest.raises(ModelNotFoundError, match=r"could not be fetched.*try again: what has arrived is kept"):
        load("owner/tiny")
    served.cut_after = None
    assert_opens("owner/tiny")


class Told(Host):
    """Notes what it hears, and stops what it hears of once so much is done."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.heard: list[tuple[int, int]] = []
        self.stop_after = stop_after

    def tell(self, done: int, total: int) -> None:
        self.heard.append((done, total))
        if self.stop_after is not None and done >= self.stop_after:
            raise KeyboardInterrupt


def test_a_host_hears_how_much_has_arrived(served: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TELLING", 0.01)
    served.pause = 0.3
    fetched, progress = hub.fetch("owner/tiny", None, lambda folder: None, host := Told()), host.heard
    size = sum(path.stat().st_size for path in fetched.iterdir()) - (fetched / "config.json").stat().st_size
    assert progress == sorted(progress)
    assert progress[-1][1] == size
    assert 0 < progress[-1][0] <= size


def test_a_download_is_stopped_and_the_next_one_completes_it(served: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TELLING", 0.01)
    served.pause = 0.3
    with pytest.raises(KeyboardInterrupt):
        load("owner/tiny", host=Told(stop_after=1))
    assert not hub.is_fetched("owner/tiny")
    served.pause = 0.0
    assert_opens("owner/tiny")
    assert hub.is_fetched("owner/tiny")
    assert is_here("owner/tiny")


def test_what_the_disk_does_not_hold_is_refused_before_it_is_fetched(
    served: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = sum(len(body) for name, body in served.files.items() if name.startswith("model-"))
    free = weights + len(served.files["tokenizer.json"]) // 2
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    with pytest.raises(TooLargeError, match=r"owner/tiny takes .* GB of disk.*set HF_HOME"):
        load("owner/tiny")
    assert not [
        request for request in served.requests if request.startswith("GET") and request.endswith(".safetensors")
    ]
    free *= 2
    assert_opens("owner/tiny")


def test_another_architecture_is_refused_before_its_weights_are_fetched(served: Hub) -> None:
    served.files["config.json"] = b'{"model_type": "mamba"}'
    with pytest.raises(CheckpointError, match="owner/tiny is a 'mamba', which is none of the architectures that open"):
        load("owner/tiny")
    assert not [request for request in served.requests if request.endswith(".safetensors")]


@pytest.mark.parametrize("whole", [True, False])
def test_a_repository_of_pickles_alone_is_fetched_and_opens_without_the_hub(
    whole: bool, served: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = random_gpt2(vocab_size=VOCABULARY).state_dict()
    names = sorted(state)
    parts = [names] if whole else [names[:7], names[7:]]
    called = ["pytorch_model.bin"] if whole else [f"pytorch_model-{n}-of-2.bin" for n in (1, 2)]
    served.files = {name: body for name, body in served.files.items() if "model" not in name}
    for name, part in zip(called, parts, strict=True):
        file = io.BytesIO()
        torch.save({each: state[each] for each in part}, file)
        served.files[name] = file.getvalue()
    if not whole:
        shard_of = {each: name for name, part in zip(called, parts, strict=True) for each in part}
        served.files["pytorch_model.bin.index.json"] = json.dumps({"weight_map": shard_of}).encode()
    assert_opens("owner/tiny")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert_opens("owner/tiny")


def test_the_environment_is_honoured_in_a_fresh_process(served: Hub, tmp_path: Path) -> None:
    environment = {**os.environ, "HF_ENDPOINT": served.endpoint, "HF_HOME": str(tmp_path / "home")}
    code = (
        "from headlight.model import load; model = load('owner/tiny'); print(model.source.revision, model.source.path)"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    revision, path = run.stdout.split()
    assert revision == COMMIT
    assert Path(path).is_relative_to(tmp_path / "home")
