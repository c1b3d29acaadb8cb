"""Above the page of an encoder-decoder: model, source, beams, a target of one's own, and a second of each; examples."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Number, Option
from headlight.app.frame import bars, hint, trust
from headlight.app.frame.about import details, line, names
from headlight.app.glossary import TERMS
from headlight.app.parts.markdown import plain
from headlight.app.runs import models, prompts
from headlight.app.runs.translations import MAX_BEAMS
from headlight.app.selection import SOURCE_BAR, Selection
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations


def draw() -> None:
    """The bar: one line, or one for A and one for B."""
    _begin()
    bars.draw(_BAR)


def menus() -> DeltaGenerator:
    """Row of menus under the bar; returns the beginning of the sources that were run."""
    return bars.menus(_BAR, prompts.source_examples(), _open)


def _texts(side: str, field: str) -> Callable[[], None]:
    hear = bars.text(f"source{field}", f"Source{side}", "Enter a source text")
    with st.popover("Provide a target (teacher forcing)", key=f"headlight-target{field}"):
        st.text_area(
            plain(f"Target{side}"),
            key=selection.bar_key(f"translation{field}"),
            height=68,
            placeholder="Leave empty to translate",
            help=TERMS["given_target"],
        )
    return hear


def _model(side: str, field: str) -> Option:
    return bars.model_list(
        f"translator{field}",
        f"Model{side}",
        models.offered_seq2seq_models(),
        "Choose an encoder-decoder, or enter the folder of one.",
    )


def _beams() -> Option:
    return bars.option(Number, "beams", "Beams", help=TERMS["beams"], least=1, most=MAX_BEAMS, width=64)


_BAR = bars.Bar(
    SOURCE_BAR,
    "Add a second source, target or model: the page then shows A, B and the difference.",
    _texts,
    _model,
    _beams,
    partial(selection.submit, SOURCE_BAR),
)


def _begin() -> None:
    """Fill the bar with the default example where nothing was chosen yet."""
    now = selection.pending() or selection.current()
    example = prompts.first_source(now.translator)
    model = now.translator or example.model
    begun = {"translator": model, "source": now.source or example.source, "translator_b": now.translator_b or model}
    for name, value in begun.items():
        if getattr(now, name) in ("", None) and selection.bar_key(name) not in st.session_state:
            st.session_state[selection.bar_key(name)] = value


def _open(example: prompts.SourceExample) -> None:
    alone = replace(selection.current(), translation=None, translator_b="", source_b=None, translation_b=None)
    selected = replace(alone, translator=example.model, source=example.source)
    hint.remember(example, selection.current().translator)
    selection.ask_instead(selected)


def on_default(chosen: Selection) -> Selection:
    """The same selection on the first example's model."""
    default = prompts.first_source("").model
    is_already = {chosen.translator, chosen.translator_b} <= {"", default}
    return chosen if is_already else replace(chosen, translator=default, translator_b="")


def offer() -> None:
    """The first example of the model, or of all."""
    own = prompts.first_source(selection.current().translator)
    first = prompts.first_source("")
    example = own if own.source else first
    slug = "translate" if example == first else ""
    bars.offer("Which words of one language make a word of another?", example, _open, slug)


def look_at(translations: Translations) -> str:
    """Hint of an example on its own model; else what the model is good for."""
    current = translations.a.source.name, translations.a.source_text
    examples = (each for each in prompts.source_examples() if (each.model, each.source) == current)
    hints = (hint.of_example(example, translations.a.source.name) for example in examples)
    return next(hints, trust.in_a_line(translations.a.source))


def about(translations: Translations) -> None:
    """One line with the models and their texts, and behind it where the models come from."""
    models = names([each.source for each in translations.sides.values()])
    for (side, each), model in zip(translations.sides.items(), models, strict=True):
        with line(side):
            named = "" if translations.b is None else f"{side}  "
            n_source, n_target = len(each.source_tokens), len(each.written)
            length = "target provided" if each.search is None else f"{n_target:,} written"
            length = "as its own target too" if each.reads_source else length
            st.text(f"{named}{model} · {n_source:,} source tokens read, {length}", width="content")
            details(side, partial(_details, each, side))


def _words_of(translation: Translation) -> dict[str, str]:
    """All words of source and target, where a model knows whole words alone."""
    sides = {"source": translation.model.source_tokenizer, "target": translation.model.target_tokenizer}
    return {
        f"words of the {side}": " ".join(tokenizer.labels(tokenizer.word_ids()))
        for side, tokenizer in sides.items()
        if tokenizer is not None and not tokenizer.adds_special
    }


def _details(translation: Translation, side: str) -> None:
    cfg, source = translation.model.cfg, translation.source
    n_parameters = sum(parameter.numel() for parameter in translation.model.parameters())
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
        **_words_of(translation),
        "token ids read": " ".join(map(str, translation.source_tokens.tolist())),
        "token ids written": " ".join(map(str, translation.written.tolist())),
    }
    trust.purpose(source)
    trust.table(rows)
    trust.training(source, side)
