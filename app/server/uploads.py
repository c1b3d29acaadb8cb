"""Uploaded files in memory, limited for a session and in all: Streamlit itself keeps every upload.

It also keeps what a page has read until its session is forgotten, and what comes under an unknown name.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from threading import Lock

from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from streamlit import get_option
from streamlit.runtime import memory_uploaded_file_manager
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

from headlight.app.server.worker import own

OF_SESSION, OF_ALL = 4, 64  # times the largest file
MAX_OFFERED = 64  # addresses of one session to which a file can be sent: its last ones


class BoundedUploads(MemoryUploadedFileManager):
    """Streamlit's, with bounds."""

    def __init__(self, upload_endpoint: str) -> None:
        super().__init__(upload_endpoint)
        self._offered = defaultdict[str, deque[str]](lambda: deque(maxlen=MAX_OFFERED))
        self._adding = Lock()

    def get_upload_urls(self, session_id: str, file_names: Sequence[str]) -> list[UploadFileUrlInfo]:
        """New addresses for files, of which each may be used."""
        urls = super().get_upload_urls(session_id, file_names[:MAX_OFFERED])
        with self._adding:
            self._offered[session_id].extend(url.file_id for url in urls)
        return [UploadFileUrlInfo(url.file_id, own(url.upload_url), own(url.delete_url)) for url in urls]

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Keep a file, and of its session no more than fits beside it: the oldest have been read.

        Raises:
            HTTPException: its address is not from this session's page, or all sessions' files are too many.
        """
        largest = get_option("server.maxUploadSize") * 2**20
        with self._adding:
            if file.file_id not in self._offered.get(session_id, ()):
                raise HTTPException(400, "This address for a file was not given by the page. Upload it on the page.")
            self._drop(session_id, file.file_id, OF_SESSION * largest - len(file.data))
            if sum(map(self._bytes, list(self.file_storage))) + len(file.data) > OF_ALL * largest:
                raise HTTPException(503, "Too many files are uploaded at the moment. Try again in some minutes.")
            super().add_file(session_id, file)

    def _drop(self, session_id: str, replaced: str, most: int) -> None:
        self.remove_file(session_id, replaced)
        while self._bytes(session_id) > most:
            self.remove_file(session_id, next(iter(self.file_storage[session_id])))

    def _bytes(self, session_id: str) -> int:
        return sum(len(file.data) for file in list(self.file_storage.get(session_id, {}).values()))

    def remove_session_files(self, session_id: str) -> None:
        """Remove an ended session's files; uploads still in transit are refused."""
        with self._adding:
            self._offered.pop(session_id, None)
            super().remove_session_files(session_id)


def bound_uploads() -> None:
    """Have Streamlit keep uploads so, for which it has no setting, and none on the disk, which may be full."""
    memory_uploaded_file_manager.MemoryUploadedFileManager = BoundedUploads  # type: ignore[misc]
    MultiPartParser.spool_max_size = (get_option("server.maxUploadSize") + 1) * 2**20
