"""Uploaded files: only those that a page has asked for are kept, and so many bytes, by Streamlit's own routes."""

import errno
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from starlette.applications import Starlette
from starlette.formparsers import MultiPartParser
from starlette.testclient import TestClient
from streamlit.runtime import memory_uploaded_file_manager
from streamlit.web.server.starlette import starlette_routes

from headlight.app.server.uploads import OF_ALL, OF_SESSION, BoundedUploads, bound_uploads

MB = 2**20


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> BoundedUploads:
    """What `bound_uploads` puts into Streamlit, for files of 1 MB at most."""
    monkeypatch.setattr("headlight.app.server.uploads.get_option", lambda _: 1)
    for kept, name in (
        (memory_uploaded_file_manager, "MemoryUploadedFileManager"),
        (MultiPartParser, "spool_max_size"),
    ):
        monkeypatch.setattr(kept, name, getattr(kept, name))  # put back afterwards
    bound_uploads()
    made = memory_uploaded_file_manager.MemoryUploadedFileManager("/upload")
    assert isinstance(made, BoundedUploads)
    return made


@pytest.fixture
def client(uploads: BoundedUploads, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Streamlit's routes over it, in a server where every session is there."""
    monkeypatch.setattr(starlette_routes, "is_xsrf_enabled", lambda: False)
    runtime: Any = SimpleNamespace(is_active_session=lambda session: True)
    with TestClient(Starlette(routes=starlette_routes.create_upload_routes(runtime, uploads, None))) as made:
        yield made


def put(client: TestClient, session: str, file_id: str, nbytes: int = MB) -> int:
    return client.put(f"/_stcore/upload_file/{session}/{file_id}", files={"file": ("x", b"x" * nbytes)}).status_code


def offered(uploads: BoundedUploads, session: str) -> str:
    return uploads.get_upload_urls(session, ["x"])[0].file_id


def test_a_file_under_an_invented_address_is_refused(uploads: BoundedUploads, client: TestClient) -> None:
    mine = offered(uploads, "mine")
    assert put(client, "mine", "invented") == 400
    assert put(client, "other", mine) == 400
    assert put(client, "mine", mine) == 204
    assert [len(file.data) for file in uploads.get_files("mine", [mine])] == [MB]
    assert "other" not in uploads.file_storage


def test_of_a_session_the_last_files_are_kept_and_of_all_so_many_bytes(
    uploads: BoundedUploads, client: TestClient
) -> None:
    ids = [offered(uploads, "one") for _ in range(OF_SESSION + 2)]
    assert {put(client, "one", file_id) for file_id in ids} == {204}
    assert put(client, "one", ids[-1]) == 204  # in its own place
    assert list(uploads.file_storage["one"]) == ids[2:]
    for session in range(OF_ALL - OF_SESSION):
        assert put(client, f"s{session}", offered(uploads, f"s{session}")) == 204
    assert put(client, "last", offered(uploads, "last")) == 503
    uploads.remove_session_files("one")
    assert put(client, "last", offered(uploads, "last")) == 204


def test_what_comes_after_its_session_has_ended_is_not_kept(uploads: BoundedUploads, client: TestClient) -> None:
    late = offered(uploads, "gone")
    uploads.remove_session_files("gone")
    assert put(client, "gone", late) == 400
    assert not uploads.file_storage


def test_no_upload_needs_the_disk(uploads: BoundedUploads, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert put(client, "one", offered(uploads, "one"), MB + 100_000) in (204, 413)
    assert put(client, "one", offered(uploads, "one"), MB) == 204
