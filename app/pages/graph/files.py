"""The graph as circuit-tracer's json: to be saved, and one from a file to be opened in the page's place."""

from dataclasses import dataclass

import streamlit as st

from headlight.app import selection
from headlight.app.frame import notices
from headlight.app.pages.graph.graph_view import GraphView, RunGraphView, settings_of
from headlight.app.parts import uploading
from headlight.app.parts.parts import heading
from headlight.app.runs import runs
from headlight.app.server import boundary
from headlight.model.graph.influence import Pruned, Scores, graph_scores, prune
from headlight.model.graph.reading import Opened, open_graph
from headlight.model.graph.writing import graph_json

KEY, REFUSED = "graph_file", "graph_file_refused"


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A graph from a file of this name, all of it kept, and how much of it is explained."""

    name: str
    opened: Opened
    pruned: Pruned
    scores: Scores

    @classmethod
    def read(cls, name: str, content: bytes) -> "OpenFile":
        """The graph in a file.

        Raises:
            InputError: it says what is wrong with the file.
        """
        opened = open_graph(content)
        return cls(name, opened, prune(opened.graph, 1.0, 1.0), graph_scores(opened.graph))


def opened() -> OpenFile | None:
    """The file that is open in this session."""
    return st.session_state.get(KEY)


def close() -> None:
    """Go back to the run's own graph."""
    st.session_state.pop(KEY, None)


def view_of(file: OpenFile, node: str) -> GraphView:
    """The graph of a file, all that is in it."""
    graph = file.opened.graph
    n_layers = 1 + max((each.layer for each in graph.nodes if each.layer is not None), default=0)
    return GraphView(graph, file.pruned, file.scores, n_layers, node, range(len(graph.tokens)), file.opened.names)


def draw(view: RunGraphView) -> None:
    """A button that saves the graph, and one that opens another."""
    heading("Files", "graph_file", key="graph_files")
    if reason := st.session_state.pop(REFUSED, ""):
        notices.refused(reason, "graph_file")
    settings = settings_of(selection.current())
    with st.container(horizontal=True, key="headlight-graph-files"):
        st.download_button(
            "Save as json",
            lambda: graph_json(
                view.graph, view.pruned, view.groups(selection.current()), (settings.nodes, settings.edges)
            ),
            file_name="graph.json",
            mime="application/json",
            on_click="ignore",
            key=selection.widget_key("graph_save"),
        )
        uploading.uploader(
            "Open a json",
            "A graph that circuit-tracer, Neuronpedia or Headlight wrote",
            [".json"],
            "graph-open",
            _take,
        )


def _take(name: str, data: bytes) -> None:
    def refuse(reason: str) -> None:
        st.session_state[REFUSED] = f"Could not open {name}. {reason}"

    with boundary.guard(refuse), runs.turn():
        st.session_state[KEY] = OpenFile.read(name, data)
