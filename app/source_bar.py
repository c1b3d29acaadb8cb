"""Above the page of an encoder-decoder: model, source, beams, a target of one's own; examples; and what was run."""

from dataclasses import replace

import streamlit as st

from app import models, prompts, selection, tour
from app.glossary import TERMS
from app.translation import MOST_BEAMS, Translation


def draw() -> None:
    """The bar, with the examples under it."""
    _begin()
    selection.fill_bars()
    key = selection.widget_key("translator")
    with st.form("headlight.bar", border=False):
        st.text_area(
            "Source",
            key=selection.widget_key("source"),
            height=68,
            placeholder="Type what the model is to read",
            label_visibility="collapsed",
        )
        with st.expander("Give the target yourself"):
            st.text_area(
                "Target",
                key=selection.widget_key("translation"),
                height=68,
                placeholder="Left empty, the model writes it",
                help=TERMS["given_target"],
            )
        with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-bar"):
            st.selectbox(
                "Model",
                dict.fromkeys((*models.offered_seq2seq_models(), st.session_state[key])),
                key=key,
                accept_new_options=models.any_model_allowed(),
                help="Pick an encoder-decoder, or type the folder of one.",
                width=280,
            )
            st.number_input("Beams", 1, MOST_BEAMS, key=selection.widget_key("beams"), help=TERMS["beams"], width=140)
            st.form_submit_button("Run", type="primary", on_click=selection.submit_source, shortcut="Mod+Enter")
    selection.submit_late()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="headlight-examples"):
        st.caption("Examples", width="content")
        for example in prompts.source_examples():
            st.button(
                example.title,
                key=selection.widget_key(f"example.{example.title}"),
                type="tertiary",
                on_click=_open,
                args=(example,),
            )
        st.space("stretch")
        tour.draw()


def _begin() -> None:
    """Where nothing was chosen yet, the bar holds the example that is then shown."""
    now = selection.asked() or selection.current()
    example = prompts.first_source(now.translator)
    for name, value in (("translator", now.translator or example.model), ("source", now.source or example.source)):
        if getattr(now, name) in ("", None) and selection.widget_key(name) not in st.session_state:
            st.session_state[selection.widget_key(name)] = value


def _open(example: prompts.SourceExample) -> None:
    asked = replace(selection.current(), translator=example.model, source=example.source, translation=None)
    selection.ask_instead(asked)


def look_at(source: str) -> None:
    """What to look at, if the source is one of the examples."""
    for example in prompts.source_examples():
        if example.source == source:
            st.caption(f"**What to look at.** {example.look_at}")


def about(found: Translation) -> None:
    """What was read and written by which model, and behind it where the model comes from."""
    with st.container(horizontal=True, vertical_alignment="center", key="headlight-fedA"):
        n_source, n_target = len(found.source_tokens), len(found.written)
        given = "target given" if found.search is None else f"{n_target:,} written"
        st.text(f"{found.source.name} · {n_source:,} source tokens read, {given}", width="content")
        details = st.popover("About this model", type="tertiary", key=selection.widget_key("aboutA"), on_change="rerun")
        if details.open:  # the hash reads the whole file, so not before somebody looks
            with details:
                _details(found)


def _details(found: Translation) -> None:
    cfg, source = found.model.cfg, found.source
    n_parameters = sum(parameter.numel() for parameter in found.model.parameters())
    rows = {
        "model": source.name,
        "family": source.family,
        "layers (encoder, decoder) × heads": f"{cfg.n_encoder_layers}, {cfg.n_decoder_layers} × {cfg.n_heads}",
        "width (stream, head, MLP)": f"{cfg.d_model}, {cfg.d_head}, {cfg.d_mlp}",
        "vocabulary (source, target)": f"{cfg.d_vocab:,}, {cfg.d_vocab_out:,} tokens",
        "positions": f"{cfg.n_ctx:,}, {cfg.positions}",
        "LayerNorm": "before each sublayer" if cfg.norm_first else "after each sublayer",
        "shared embeddings": cfg.shared_embeddings,
        "parameters": f"{n_parameters:,}",
        "weights' SHA-256": source.sha256,
        "token ids read": " ".join(map(str, found.source_tokens.tolist())),
        "token ids written": " ".join(map(str, found.written.tolist())),
    }
    width = max(map(len, rows))
    st.code("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()), language=None, wrap_lines=True)
