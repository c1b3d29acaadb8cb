"""Translation, with the probability of each token."""

import streamlit as st

from headlight.app import selection
from headlight.app.parts import tables
from headlight.app.parts.labels import percent
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import with_difference
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations
from headlight.model.measure.alignment import on_axis
from headlight.model.measure.likelihood import probabilities


def draw(translations: Translations) -> None:
    """The target of each translation, with its probabilities; of two, how much likelier B's is."""
    if any(each.label_logits is not None for each in translations.sides.values()):
        _labels(translations)
        return
    for side, each in translations.sides.items():
        _target(each, "" if translations.b is None else f"{side}: ", side)
    if translations.b is not None:
        change = float(translations.b.log_probs.sum() - translations.a.log_probs.sum())
        st.caption(plain(f"Total log-probability of B's target − A's: {_number(change)} nats."))
        if selection.current().table:
            tables.draw(_side_by_side(translations), "The targets side by side, with every token's log-probability")


def _labels(translations: Translations) -> None:
    """What a classifier says of each source, and where that is read."""
    heading("Labels")
    for side, each in translations.sides.items():
        if each.label_logits is None:
            continue
        named = "" if translations.b is None else f"{side}: "
        shares = probabilities(each.label_logits, each.model.cfg.multi_label).tolist()
        logits = each.label_logits.tolist()
        said = zip(each.model.cfg.labels, shares, logits, strict=True)
        if len(logits) == 1:
            st.text(f"{named}{each.model.cfg.labels[0]} {logits[0]:.3f}")
        else:
            st.text(named + "  ".join(f"{name} {percent(share)} ({logit:.2f})" for name, share, logit in said))
        position = each.model.label_position(each.source_tokens)
        st.caption(
            plain(
                f"{named}probability and logit, read where the decoder reads {each.read_labels[position]} (position "
                f"{position}): it reads the source itself, one token later."
            )
        )


def _target(translation: Translation, before: str, side: str) -> None:
    provided = "Provided target" if not before else "provided target"
    wrote = "Output" if not before else "output"
    heading(f"{before}{wrote if translation.search else provided}", "log_prob")
    nothing = "Only special tokens." if len(translation.written_labels) > 1 else "Empty: it stopped at once."
    st.text(translation.text or nothing)
    probabilities = zip(translation.written_labels, translation.log_probs.exp().tolist(), strict=True)
    with st.container(key=f"headlight-probabilities{side}"):
        st.text("  ".join(f"{label} {percent(probability)}" for label, probability in probabilities))
    total = _number(float(translation.log_probs.sum()))
    st.caption(plain(f"Probability of each token given the previous ones. Total log-probability: {total} nats."))


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
