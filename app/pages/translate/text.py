"""Translation, with the probability of each token."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from headlight.app import selection
from headlight.app.components import Link
from headlight.app.figures.text import token_name
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts import options, tables
from headlight.app.parts.labels import percent
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import with_difference
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations
from headlight.model.measure.alignment import on_axis
from headlight.model.measure.likelihood import probabilities

NO_HEAD = (
    "No head: the output is the decoder's last hidden state, so that nothing is predicted or written. Without a target "
    "of your own the decoder reads the source itself, one token later."
)


def draw(translations: Translations) -> None:
    """The target of each translation, with its probabilities; of two, how much likelier B's is. Or other outputs."""
    writes = all(each.model.cfg.output == "tokens" for each in translations.sides.values())
    if not writes:
        for side, each in translations.sides.items():
            _outputs(each, "" if translations.b is None else f"{side}: ")
        return
    placed = translations.axes("cross", "written")[0].positions
    for (side, each), positions in zip(translations.sides.items(), placed, strict=True):
        _target(each, "" if translations.b is None else f"{side}: ", side, positions)
    if translations.b is not None:
        change = float(translations.b.log_probs.sum() - translations.a.log_probs.sum())
        st.caption(plain(f"Total log-probability of B's target − A's: {_number(change)} nats."))
        if selection.current().table:
            tables.draw(_side_by_side(translations), "The targets side by side, with every token's log-probability")


def _outputs(translation: Translation, named: str) -> None:
    """What a model without tokens to write says of its source."""
    match translation.model.cfg.output:
        case "labels":
            _labels(translation, named)
        case "answer span":
            _answer(translation, named)
        case "none":
            st.caption(plain(f"{named}{NO_HEAD}"))
        case _:
            _target(translation, named, named[:1] or "A", range(len(translation.written)))


def _labels(translation: Translation, named: str) -> None:
    """What a classifier says of its source, and where that is read."""
    heading(f"{named}Labels")
    cfg, label_logits = translation.model.cfg, translation.label_logits
    assert label_logits is not None  # of a classifier
    shares, logits = probabilities(label_logits, cfg.multi_label).tolist(), label_logits.tolist()
    if len(logits) == 1:
        st.text(f"{cfg.labels[0]} {logits[0]:.3f}")
    else:
        said = zip(cfg.labels, shares, logits, strict=True)
        st.text("  ".join(f"{name} {percent(share)} ({logit:.2f})" for name, share, logit in said))
    position = translation.model.label_position(translation.source_tokens)
    read = token_name(translation.read_labels[position], position)
    st.caption(
        plain(
            f"{named}probability and logit, read where the decoder reads {read} (position {position}): "
            "it reads the source itself, one token later."
        )
    )


def _answer(translation: Translation, named: str) -> None:
    """The likeliest answer, and the logits of its ends."""
    heading(f"{named}Answer")
    answer, tokens = translation.answer, translation.source_tokens.tolist()
    assert answer is not None  # of a model that gives one
    tokenizer, span = translation.model.source_tokenizer, tokens[answer.start : answer.end + 1]
    st.text(" ".join(map(str, span)) if tokenizer is None else tokenizer.to_string(span))
    st.caption(
        plain(
            f"Tokens {answer.start} to {answer.end}: of all spans of the text, the one whose start "
            f"({answer.start_logit:.2f}) and end ({answer.end_logit:.2f}) have logits that add up to the most. The "
            "decoder reads the source itself, one token later."
        )
    )


def _target(translation: Translation, before: str, side: str, positions: Sequence[int | None]) -> None:
    provided = "Provided target" if not before else "provided target"
    wrote = "Output" if not before else "output"
    heading(f"{before}{wrote if translation.search else provided}", "log_prob")
    nothing = "Only special tokens." if len(translation.written_labels) > 1 else "Empty: it stopped at once."
    st.text(translation.text or nothing)
    probabilities = zip(translation.written_labels, translation.log_probs.exp().tolist(), strict=True)
    links = [
        Link(
            f"written_{side}_{at}",
            f"{token_name(label, at + 1)} {percent(probability)}",
            None,
            partial(_explain, at, positions),
        )
        for at, (label, probability) in enumerate(probabilities)
    ]
    with st.container(key=f"headlight-probabilities{side}"):
        options.row(*links, name=f"written{side}", whole=True)
    total = _number(float(translation.log_probs.sum()))
    st.caption(
        plain(
            f"Probability of each token given the previous ones; click one to see why it was written. Total "
            f"log-probability: {total} nats."
        )
    )


def _explain(at: int, positions: Sequence[int | None], _: object) -> None:
    """Explain a written token, from where it was written."""
    selection.choose(Choices, why_written=positions.index(at), why_versus=None, pair_queries=(), pair_keys=())


def _side_by_side(translations: Translations) -> tables.Columns:
    """The tokens on their common axis; B - A where both wrote one."""
    axis, _ = translations.axes("cross", "written")
    columns: tables.Columns = {"Place": range(len(axis.labels)), "Token": axis.labels}
    log_probs = {
        side: on_axis(each.log_probs, positions, float("nan")).numpy()
        for (side, each), positions in zip(translations.sides.items(), axis.positions, strict=True)
    }
    for side, values in with_difference(log_probs).items():
        columns[f"Log-probability {side} (nats)"] = values
    return columns


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")  # no −0.000
