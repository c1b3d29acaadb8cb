"""For whom a thread works: the browser session, and the address that it comes from."""

from collections.abc import Hashable
from functools import cache
from threading import get_ident

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from headlight.app.runs.limits import BusyError
from headlight.app.server import metrics
from headlight.app.server.rates import RateLimit, network_of
from headlight.app.server.settings import is_loopback, settings

FROM_ADDRESS = "X-Forwarded-For", "X-Real-IP"
BY_PROXIES = "Forwarded", "Via"


def session() -> Hashable:
    """The browser session that this thread works for, or the thread itself."""
    context = get_script_run_ctx(suppress_warning=True)
    return get_ident() if context is None else context.session_id


def is_elsewhere() -> bool:
    """Whether this thread works for a browser on another machine, by its address or by what proxies say of it."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return False
    headers = st.context.headers
    addresses = ",".join(headers.get(name, "") for name in FROM_ADDRESS).split(",")
    is_told = any(name in headers for name in BY_PROXIES)
    return is_told or any(not is_loopback(each.strip()) for each in addresses if each.strip()) or _address() != ""


def _address() -> str:
    """Address of the browser; empty where it is this machine's."""
    return network_of(st.context.ip_address or "")


def check_rate() -> None:
    """Count a run of this thread's visitor.

    Raises:
        BusyError: its address has started too many within a minute; visitors on this machine have no limit.
    """
    if not settings().runs_per_minute or get_script_run_ctx(suppress_warning=True) is None:
        return
    if seconds := _rate().seconds_until_free(_address()):
        metrics.REFUSALS.labels("runs").inc()
        raise BusyError(
            f"Your address has started {settings().runs_per_minute:,} runs within a minute, which is as many as this "
            f"server takes from one. Nothing was started; try again in {seconds} s."
        )


@cache
def _rate() -> RateLimit:
    return RateLimit(settings().runs_per_minute)
