"""Files of a circuit: one of EAP-IG's or MIB's to compare with, and the circuit saved as one."""

from functools import partial

import streamlit as st

from headlight.app import selection
from headlight.app.frame import notices
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.circuit import CircuitView
from headlight.app.parts import uploading
from headlight.app.parts.markdown import plain
from headlight.app.runs import circuits
from headlight.app.server import boundary
from headlight.model.circuits.study import CircuitStudy

REFUSED = "circuit_file_refused"
FORMATS = {".json": "json (EAP-IG, MIB)", ".pt": "pt (EAP-IG, MIB)"}


def draw(view: CircuitView, study: CircuitStudy) -> None:
    """A popover that opens a file to compare with, and one that saves the circuit."""
    model = view.read.run.source.name
    if reason := st.session_state.pop(REFUSED, ""):
        notices.refused(reason, "circuit_file")
    with st.container(horizontal=True, width="content", key="headlight-circuit-files"):
        uploading.uploader(
            "Compare with a file",
            "A circuit of this model that EAP-IG, MIB or Headlight wrote",
            circuits.SUFFIXES,
            "circuit-open",
            lambda name, data: _take(name, data, model),
        )
        with st.popover("Save the circuit", key="headlight-circuit-save"):
            for suffix, label in FORMATS.items():
                st.download_button(
                    plain(label),
                    partial(circuits.file_of, study, model, suffix),
                    f"circuit{suffix}",
                    on_click="ignore",
                    key=selection.widget_key(f"exp_circ_save{suffix}"),
                )


def _take(name: str, data: bytes, model: str) -> None:
    def refuse(reason: str) -> None:
        st.session_state[REFUSED] = f"Could not open {name}. {reason}"

    with boundary.guard(refuse):
        selection.choose(Choices, exp_circ_file=circuits.add_file(name, data, model))
