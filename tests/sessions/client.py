"""A session without a browser: what a browser's script says to the server over its websocket, and hears back."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.unpacking import unpack

PATIENCE = 60  # seconds that anything may take on a busy machine
LARGEST = 25 * 2**20  # bytes of a message, as app/server/.streamlit/config.toml has it
CLEAR_CACHES = BackMsg(clear_cache=True).SerializeToString()
OPTIONS = "headlight.chosen"  # the key of the prompt bar's row of options
TRIGGERS = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_{{}}__events"  # the name that Streamlit has for a component's triggers
PREDICTED = "headlight.predicted"  # with a side, the key of the row of the likeliest tokens
ENDS = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class Client:
    """One session. It holds what a browser holds: what is drawn, the widgets' states, and the address's query."""

    def __init__(self, url: str, query: str = "", headers: Mapping[str, str] | None = None) -> None:
        self._url, self._query, self._page, self._headers = url, query, "", headers or {}
        self._browser = requests.Session()  # which keeps cookies
        self._line = ExitStack()
        self._states: dict[str, WidgetState] = {}
        self._held: dict[str, np.ndarray] = {}  # arrays by digest, which are not sent again
        self._drawn: dict[tuple[int, ...], Element] = {}
        self._fragments: dict[tuple[int, ...], str] = {}  # which part of the page an element is drawn with

    def open(self) -> "Client":
        """Connect, ask for the page, and wait until it is drawn."""
        stream = f"{self._url.replace('http', 'ws', 1)}/_stcore/stream"
        self._line.close()
        if not self._browser.cookies:  # one of several workers tells its own
            self._browser.get(f"{self._url}/", headers={**self._headers, "Accept": "text/html"}, timeout=PATIENCE)
        self._socket = self._line.enter_context(
            connect(
                stream,
                max_size=LARGEST,
                subprotocols=[Subprotocol("streamlit")],
                proxy=None,
                open_timeout=PATIENCE,
                additional_headers={**self._headers, **({"Cookie": cookies} if (cookies := self.cookies) else {})},
            )
        )
        self._rerun()
        return self

    def __enter__(self) -> "Client":
        return self.open()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    @property
    def cookies(self) -> str:
        """The cookies that it keeps, as a request's header has them."""
        return "; ".join(f"{name}={text}" for name, text in self._browser.cookies.items())

    def submit(self, prompt: str, bos: bool | None = None) -> None:
        """Type a prompt and run it."""
        self._set("text_area", "Prompt", string_value=prompt)
        self._choose({} if bos is None else {"bos": bos})
        self._rerun(WidgetState(id=self._element("button", "Run").id, trigger_value=True))

    def go_to(self, page: str) -> None:
        """Change to a page by its name in the address, as by the browser's Back button."""
        chosen = {name: value for name, value in parse_qsl(self._query) if name != "page"}
        self._query = urlencode(chosen | {"page": page} if page else chosen)
        self._rerun(goes_back=True)

    def do(self, key: str, event: Any) -> None:
        """Do something in a component, by its key: as in a browser only its part of the page is drawn again."""
        place, header = next((place, header) for place, header in self._components() if header["key"] == key)
        component = self._drawn[place].bidi_component.id
        state = {"value": {"epoch": header["epoch"], "value": event}}
        self._states[component] = WidgetState(id=component, json_value=json.dumps(state))
        self._rerun(fragment=self._fragments[place])

    def props(self, key: str) -> dict[str, Any]:
        """What a component shows, by its key."""
        props: dict[str, Any] = next(header["props"] for _, header in self._components() if header["key"] == key)
        return props

    def upload(self, name: str, data: bytes) -> None:
        """Give a file to the page's first uploader, as a browser does: ask for its address, send it, and say so."""
        message = BackMsg()
        message.file_urls_request.request_id = name
        message.file_urls_request.file_names.append(name)
        self._socket.send(message.SerializeToString())
        while (heard := self._receive()).WhichOneof("type") != "file_urls_response":
            self._hear(heard)
        urls = heard.file_urls_response.file_urls[0]
        self._browser.get(f"{self._url}/_stcore/health", timeout=PATIENCE)  # which brings the cookie
        token = {"X-Xsrftoken": self._browser.cookies.get("_streamlit_xsrf", "")}
        self._browser.put(
            f"{self._url}{urls.upload_url}", files={"file": (name, data)}, headers=token, timeout=PATIENCE
        ).raise_for_status()
        uploader = next(each for each in self._drawn.values() if each.WhichOneof("type") == "file_uploader")
        state = WidgetState(id=uploader.file_uploader.id)
        state.file_uploader_state_value.uploaded_file_info.add(
            name=name, size=len(data), file_id=urls.file_id, file_urls=urls
        )
        self._rerun(state)

    def clear_caches(self) -> None:
        """What Streamlit's menu, or anybody who speaks this protocol, can ask for."""
        self._socket.send(CLEAR_CACHES)

    @property
    def all_texts(self) -> str:
        """Everything that is written on the page, whatever kind of element it is in."""
        return "\n".join(str(element) for _, element in sorted(self._drawn.items()))

    @property
    def texts(self) -> list[str]:
        """All plain texts on the page, in the order of the page, and the labels of what is predicted."""
        elements = [element for _, element in sorted(self._drawn.items())]
        return [text for element in elements if (text := self._text_of(element)) is not None]

    def _text_of(self, element: Element) -> str | None:
        if element.WhichOneof("type") == "text":
            return element.text.body
        if not element.bidi_component.bytes:
            return None
        header, _ = unpack(element.bidi_component.bytes)
        if not header["key"].startswith(PREDICTED):
            return None
        looks = json.loads(self._held[header["digests"]["looks"]].tobytes())
        return "predicted: " + "  ".join(look["label"] for look in looks)

    def _element(self, kind: str, label: str) -> Any:
        elements = [getattr(element, kind) for element in self._drawn.values() if element.WhichOneof("type") == kind]
        return next(each for each in elements if each.label == label)

    def _set(self, kind: str, label: str, **value: Any) -> None:
        widget = self._element(kind, label).id
        self._states[widget] = WidgetState(id=widget, **value)

    def _choose(self, chosen: dict[str, Any]) -> None:
        """What is chosen in the row of options goes along with what is run, each value with the time (ms)."""
        headers = ((self._drawn[place].bidi_component.id, header) for place, header in self._components())
        row, header = next((row, header) for row, header in headers if header["key"] == OPTIONS)
        now = time.time_ns() // 1_000_000
        value = {"epoch": header["epoch"], "value": {name: [value, now] for name, value in chosen.items()}}
        state = {"value": value, "script": header["script"]}
        self._states[row] = WidgetState(id=row, json_value=json.dumps(state))

    def _components(self) -> list[tuple[tuple[int, ...], dict[str, Any]]]:
        """The place of each component, and what it is drawn with."""
        components = ((place, element.bidi_component.bytes) for place, element in self._drawn.items())
        return [(place, unpack(packed)[0]) for place, packed in components if packed]

    def _rerun(self, *triggers: WidgetState, goes_back: bool = False, fragment: str = "") -> None:
        message = BackMsg()
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_history_navigation = goes_back
        message.rerun_script.query_string = self._query
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.widget_states.widgets.extend([*self._states.values(), *triggers])
        self._socket.send(message.SerializeToString())
        if not fragment:
            self._drawn.clear()
        while not self._hear(self._receive()):
            pass
        if lost := self._lost():
            self._rerun(*lost)

    def _receive(self) -> ForwardMsg:
        return ForwardMsg.FromString(self._socket.recv(PATIENCE))

    def _lost(self) -> list[WidgetState]:
        """What the components say that were not sent an array, as one that was overtaken by the next message."""
        components = [element.bidi_component for element in self._drawn.values() if element.bidi_component.bytes]
        lost = [each.id for each in components if set(unpack(each.bytes)[0]["digests"].values()) - set(self._held)]
        said = json.dumps([{"event": "lost", "value": True}])
        return [WidgetState(id=TRIGGERS.format(component), json_trigger_value=said) for component in lost]

    def _hear(self, message: ForwardMsg) -> bool:
        """Take in one message; true at the end of the script."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            if not message.metadata.run.fragment_ids:
                self._drawn.clear()
            self._page = message.new_session.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.HasField("new_element"):
            place = tuple(message.metadata.delta_path)
            self._fragments[place] = message.delta.fragment_id
            self._draw(place, message.delta.new_element)
        return kind == "script_finished" and message.script_finished in ENDS

    def _draw(self, place: tuple[int, ...], element: Element) -> None:
        self._drawn[place] = element
        if element.bidi_component.bytes:
            header, arrays = unpack(element.bidi_component.bytes)
            self._held |= {digest: arrays[name] for name, digest in header["digests"].items() if name in arrays}
        if element.WhichOneof("type") == "text_area":
            box = element.text_area
            if box.set_value or box.id not in self._states:
                typed = box.value if box.set_value else box.default
                self._states[box.id] = WidgetState(id=box.id, string_value=typed)
