"""Dictionaries from a small server on this machine that speaks the hub's protocol."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest
import torch

from headlight.model.base.errors import CheckpointError, ModelNotFoundError
from headlight.model.features.opening import open_dictionary
from tests.model.checkpoints.test_hub import NOBODY, Hub, handler
from tests.saved_dictionary import save_dictionary

HOOK = "blocks.1.hook_resid_pre"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folder = save_dictionary(tmp_path / "made", HOOK, 8)
    files = {f"{HOOK}/{path.name}": path.read_bytes() for path in folder.iterdir()}
    served = Hub("owner/saes", files | {f"{HOOK}/old.pt": b"a pickle", "other/cfg.json": b"{}", "README.md": b"hello"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(served))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


def test_one_folder_of_a_repository_is_fetched_once_and_no_pickle(
    served: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_dictionary(f"owner/saes/{HOOK}")[1]
    here = open_dictionary(tmp_path / "made")[1]
    torch.testing.assert_close(opened.W_enc, here.W_enc)
    fetched = [request for request in served.requests if "/resolve/" in request]
    assert not [request for request in fetched if "old.pt" in request or "other" in request or "README" in request]
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    assert open_dictionary(f"owner/saes/{HOOK}")[1].hook_in == HOOK


def test_a_folder_that_is_not_there_is_told_with_those_that_are(served: Hub) -> None:
    with pytest.raises(CheckpointError, match=r"nothing in blocks\.9.*blocks\.1\.hook_resid_pre, other"):
        open_dictionary("owner/saes/blocks.9")


def test_a_hub_that_does_not_answer(served: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelNotFoundError, match="no model 'owner/none'"):
        open_dictionary("owner/none")
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)
    with pytest.raises(ModelNotFoundError, match="could not be fetched"):
        open_dictionary("owner/saes/other")


def test_a_path_that_is_no_hub_name_is_no_question_to_the_hub() -> None:
    for name in ("../saes", "/nowhere/at/all", "one"):
        with pytest.raises(CheckpointError, match="There is no folder"):
            open_dictionary(name)
