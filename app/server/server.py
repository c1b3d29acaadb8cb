"""Streamlit's server, with an address from which a page fetches arrays before its script runs again."""

import json
import logging
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from streamlit import App, get_option
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession

from headlight.app.components.shared.fetchable import fetch
from headlight.app.runs import models, runs
from headlight.app.runs.limits import BusyError
from headlight.app.server import capacity, manual, memory, metrics, theme, worker
from headlight.app.server.access import Access, Forwarded
from headlight.app.server.capacity import Capacity, spare_files, visitor
from headlight.app.server.flags import EVERYWHERE, HEALTH
from headlight.app.server.fonts import Fonts
from headlight.app.server.open_files import raise_files_limit
from headlight.app.server.preload import preload
from headlight.app.server.protection import Protection
from headlight.app.server.settings import MAIN, is_loopback, settings
from headlight.app.server.uploads import bound_uploads
from headlight.model.base.allocator import reuse_freed_memory
from headlight.model.base.file_copies import copy_files

HEAD, PICTURE, OTHERS = "/fetch/{name}/{layer:place}/{head:place}", "/fetch/{name}/{theme:place}", "/fetch/{rest:path}"
NO_PLACE = "The layer and the head in this address have to be whole numbers, as in /fetch/name/0/11."
NEW = {"Cache-Control": "no-store"}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Encoding": "identity",  # weights hardly shrink, and compressing them takes longer than sending them
}

STATE = metrics.State(
    {
        "sessions": ("Sessions that are connected.", capacity.n_sessions),
        "runs_under_way": ("Computations under way.", lambda: runs.load()[0]),
        "runs_waiting": ("Computations that wait in line.", lambda: runs.load()[1]),
        "cache_bytes": ("Bytes of the results that are kept.", lambda: runs.load()[2]),
        "models_open": ("Models in memory.", lambda: models.n_open()),
    }
)


class Place(IntegerConvertor):
    """A layer or a head in an address: no number that Python would not read for its length."""

    regex = "[0-9]{1,9}"


register_url_convertor("place", Place())


def _fetched(request: Request) -> Response:
    """A head's pattern for the browser, or the page's picture.

    It is 404 for a name that is not or no more to be had, or a head that is not there, and 503 where there are too many
    requests at once: a head that cannot be fetched comes with the script's answer. It needs no check of the caller:
    only the session that received a name knows it, and no other page can read an answer.
    """
    parts = dict(request.path_params)
    try:
        packed = fetch(parts.pop("name"), *parts.values())
    except BusyError:
        return Response(status_code=503, headers=NEW)
    if packed is None:
        return worker.elsewhere(request) or Response(status_code=404, headers=NEW)
    return Response(packed, headers=HEADERS, media_type="application/octet-stream")


async def _health(request: Request) -> Response:
    """That the server is ready, and how much is open on it, for what watches over it."""
    if worker.is_for_all(request):
        answers = await worker.ask_all(request)
        states = [json.loads(answer) for answer in answers if answer]
    else:
        answers, states = [], [{"models_open": models.n_open(), "sessions": capacity.n_sessions()}]
    sums = {name: sum(state[name] for state in states) for name in ("models_open", "sessions")}
    return JSONResponse({"ready": all(answers), **sums}, 200 if all(answers) else 503, NEW)


async def _metrics(request: Request) -> Response:
    if not (settings().open_metrics or is_loopback(visitor(request.scope))):
        return PlainTextResponse("Figures are for this machine alone, unless it is started with --open-metrics 1.", 403)
    is_for_all = worker.is_for_all(request)
    figures = metrics.together(await worker.ask_all(request)) if is_for_all else metrics.exposition()
    return Response(figures, headers=NEW, media_type=CONTENT_TYPE_LATEST)


def _log_runs() -> None:
    """Write a line to the log for each run."""
    log, handler = logging.getLogger("headlight"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def _refused(request: Request) -> Response:
    return PlainTextResponse(NO_PLACE, 400)


@asynccontextmanager
async def _prepared(app: App) -> AsyncIterator[None]:
    """Make this process ready for many sessions, before the first of them is served."""
    reuse_freed_memory()
    raise_files_limit()
    preload()
    copy_files(shared=worker.is_one_of_several())
    memory.collect_regularly()
    metrics.watch(STATE)
    _log_runs()
    async with _with_browser(app):
        yield


@asynccontextmanager
async def _with_browser(_: App) -> AsyncIterator[None]:
    """Open the page in the browser of whoever started the server, on a machine with a screen."""
    if not get_option("server.headless"):
        address = get_option("server.address")
        host = "localhost" if is_loopback(address) or address in EVERYWHERE else address
        webbrowser.open(f"http://{host}:{get_option('server.port')}")
    yield


def _without_path(session: AppSession, *args: Any, **named: Any) -> ForwardMsg:
    """The message at the beginning of a run, without the script's place on this machine, which no browser needs."""
    message = _new_session(session, *args, **named)
    message.new_session.main_script_path = ""
    return message


_new_session = AppSession._create_new_session_message
# Streamlit has no setting for it.
AppSession._create_new_session_message = _without_path  # type: ignore[assignment, method-assign]
theme.wear()
bound_uploads()
spare_files()
app = App(
    MAIN,
    routes=[
        Route(HEAD, _fetched),
        Route(PICTURE, _fetched),
        Route(OTHERS, _refused),
        Route(f"/{HEALTH}", _health),
        Route("/metrics", _metrics),
        *manual.routes(),
    ],
    middleware=[
        Middleware(Forwarded),
        *worker.middleware(),
        Middleware(Protection),
        Middleware(Access),
        Middleware(Capacity),
        Middleware(Fonts),
    ],
    lifespan=_prepared,
)
