"""Registers a component and mounts it; the browser owns the value, the server begins it and may force it."""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import ref

import numpy as np
import streamlit as st
from jaxtyping import UInt8

from headlight.app.components.shared.constants import CONSTANTS
from headlight.app.components.shared.packing import pack
from headlight.app.figures import tokens

SHARED = Path(__file__).parent
_COMMENTS = re.compile(r"^[ \t]*(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/)\n", re.MULTILINE)
STARTS = (SHARED / "packing.js", SHARED / "page.js", SHARED / "start" / "start.js")


@dataclass(frozen=True)
class Component:
    """A component: the folder of its scripts and styles, its whole script compressed, and its function in Streamlit."""

    folder: Path
    script: UInt8[np.ndarray, " bytes"]
    render: Callable[..., Any]


@dataclass(frozen=True)
class Mounted:
    """A component with the data that it was mounted with."""

    component: Component
    data: bytes


_recording: ContextVar[list[Mounted] | None] = ContextVar("recording", default=None)


def register(module: str) -> Component:
    """The component whose scripts and styles lie beside that module's file.

    Its scripts and the shared ones become one, which mounts the class that has the folder's name. They declare
    functions, classes and constants and run nothing at once, so their order does not matter. Its styles are one more
    constant. What is sent is compressed, a quarter of it. Streamlit itself gets the script that starts them: it sends
    that with each message, and the browser reads it again each time, so it should be short.

    They are no files of an `asset_dir` of Streamlit's: it serves those without a lifetime or a validator, so that a
    browser asks for each again at every load. The nine scripts of a first page, read by Chromium beside other work (the
    median of 14): 0.38 s from the socket, 0.63 s as nine such files, 0.50 s as modules that share the shared ones.
    """
    folder = Path(module).parent
    name = f"headlight.{folder.name}"
    style = f"export const style = new CSSStyleSheet();\nstyle.replaceSync({json.dumps(styles(SHARED, folder))});"
    script = f"{scripts(SHARED, folder)}\nexport default {entry(folder)};\n{style}\n//# sourceURL={name}.js\n"
    render = st.components.v2.component(name, js=bare(_texts(STARTS)))
    return Component(folder, np.frombuffer(zlib.compress(script.encode(), level=9), np.uint8), render)


def entry(folder: Path) -> str:
    """JavaScript that mounts the component: of the folder `head_grid` the class `HeadGrid`."""
    return f"(component) => mountView(component, {folder.name.title().replace('_', '')})"


def scripts(*folders: Path) -> str:
    """All scripts in these folders, one after the other, with the constants shared with Python."""
    return bare(joined("*.js", *folders)).replace('"constants.py"', json.dumps(json.dumps(CONSTANTS)))


def styles(*folders: Path) -> str:
    """The tokens and all styles in these folders; the tokens come along so that a component needs no page for them."""
    return f"{tokens.SHEET.read_text(encoding='utf-8')}\n{joined('*.css', *folders)}"


def bare(script: str) -> str:
    """The script without the comments that have lines to themselves, which no browser needs."""
    return _COMMENTS.sub("", script)


def joined(pattern: str, *folders: Path) -> str:
    """The contents of all files of a kind in these folders, one after the other."""
    return _texts(path for folder in folders for path in sorted(folder.glob(pattern)))


def _texts(paths: Iterable[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@contextmanager
def recorded() -> Iterator[list[Mounted]]:
    """Collect components mounted inside instead of rendering them, for a page without a server."""
    mounted: list[Mounted] = []
    token = _recording.set(mounted)
    try:
        yield mounted
    finally:
        _recording.reset(token)


def mount(
    component: Component,
    *,
    key: str,
    props: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray] = MappingProxyType({}),
    group: str = "",
    value: Any = None,
    epoch: int = 0,
    changed: Callable[[], None] = lambda: None,
    opened: Callable[[Any], None] | None = None,
    fetched: set[str] | None = None,
    in_form: bool = False,
) -> Any:
    """Show the component and return its value: the user's if there is one of this epoch, else `value`.

    When the user makes it another, `changed` is called before the script runs again, and `opened` with what of it the
    user opens. Without a `group` it is alone.

    The value travels in `data` only as it was when its epoch began: a newer one would make `data` differ at each click.
    The component's script, and arrays that were part of the last `data`, stay in the browser and are not sent again.
    One that has lost them, as when a message was overtaken by the next, says so and gets all. `fetched` are the digests
    of arrays that it has got otherwise since. One that is `in_form` cannot say what it has lost, as a form keeps that
    until it is submitted; so it gets its arrays each time, and its script until it has said that it has it.
    """
    fetched = set() if fetched is None else fetched
    digests = {name: digest(array) for name, array in arrays.items()}
    content = blake2b(pack({"props": props, "digests": digests}, {}), digest_size=8).hexdigest()
    header = {"key": key, "group": group or key, "content": content, "epoch": epoch, "props": props, "digests": digests}
    if (mounted := _recording.get()) is not None:
        mounted.append(Mounted(component, pack({**header, "value": value}, arrays)))
        return value
    begun = _begun(key, epoch, value)
    names_key = f"{key}.held"
    in_browser = {_last(key, "script")} if in_form else fetched.union(st.session_state.get(names_key, ()))
    new = {name: array for name, array in arrays.items() if digests[name] not in in_browser}
    script = digest(component.script)
    if script not in in_browser:
        new["script"] = component.script
        header["confirms"] = in_form

    def lose() -> None:
        fetched.clear()
        st.session_state.pop(names_key, None)

    def open_subject() -> None:
        if opened is not None:
            opened(st.session_state[key]["opened"])

    data = pack({**header, "script": script, "value": begun}, new)
    heard = {"on_value_change": changed, "on_lost_change": lose, "on_opened_change": open_subject}
    state = component.render(key=key, data=data, **heard).value
    st.session_state[names_key] = {script, *digests.values()}  # not before: a run that is stopped has sent nothing
    fetched.difference_update(digests.values())
    return state["value"] if state is not None and state["epoch"] == epoch else value


def _begun(key: str, epoch: int, value: Any) -> Any:
    """The value as it was when its epoch began, which is now if the epoch is new."""
    begun_key = f"{key}.begun"
    begun = st.session_state.get(begun_key)
    if begun is None or begun[0] != epoch:
        begun = st.session_state[begun_key] = (epoch, value)
    return begun[1]


def component_value(key: str, epoch: int, value: Any) -> Any:
    """Value that `mount` will return, for a component that is redrawn for a choice made in it."""
    last = _last(key)
    return last["value"] if last is not None and last["epoch"] == epoch else value


def reported(key: str) -> Any:
    """Value that a component reported last, whatever its epoch; None if it never reported one."""
    last = _last(key)
    return None if last is None else last["value"]


def _last(key: str, name: str = "value") -> Any:
    state = st.session_state.get(key)
    return None if state is None else state.get(name)


_digests: dict[int, tuple[ref[np.ndarray], str]] = {}  # of arrays that cannot change, by their place in memory


def digest(array: np.ndarray) -> str:
    """Digest of an array's contents; cached for arrays that cannot change."""
    if array.flags.writeable:
        return _digest_anew(array)
    place = id(array)
    if place not in _digests:
        _digests[place] = ref(array, lambda _: _digests.pop(place, None)), _digest_anew(array)
    return _digests[place][1]


def _digest_anew(array: np.ndarray) -> str:
    blake = blake2b(f"{array.dtype.str} {array.shape} ".encode(), digest_size=16)
    blake.update(np.ascontiguousarray(array).data)
    return blake.hexdigest()
