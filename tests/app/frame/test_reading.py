"""How to read a page: every text has three sentences, and its numbers are those of the runs."""

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.frame import reading
from headlight.app.frame.view import PROMPTED, View
from headlight.app.registry import VIEWS
from headlight.app.runs import translations
from headlight.app.selection import Selection
from headlight.model.runs.comparison import Comparison


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.slug)
def test_it_is_three_sentences_with_numbers_of_its_runs(view: View, alone: Comparison) -> None:
    runs = alone if view.kind is PROMPTED else translations.for_selection(Selection())
    text = reading.filled(view.reading, runs)
    assert text.count(". ") + text.endswith(".") == 3
    assert any(character.isdigit() for character in text)
    assert "{" not in text


def test_it_is_open_until_one_has_gone_on_or_closed_it() -> None:
    def script() -> None:
        from types import SimpleNamespace

        import streamlit as st

        from headlight.app.frame import reading

        reading.draw(st.radio("page", ["lens", "flow"]), "One. Two. Three.", SimpleNamespace(a=None))

    page = AppTest.from_function(script).run()

    def turn(slug: str) -> bool:
        page.radio[0].set_value(slug).run()
        assert not page.exception
        return bool(page.expander[0].proto.expanded)

    assert turn("lens")
    assert turn("lens")  # another run of the same page
    assert turn("flow")
    assert not turn("lens")
    assert not turn("flow")


def test_its_numbers_are_the_run_s(alone: Comparison) -> None:
    run = alone.a
    text = "{tokens} {layers} {heads} {d_model} {first_norm} {last_norm}"
    tokens, layers, heads, d_model, first, last = reading.filled(text, alone).split()
    assert [int(tokens), int(layers)] == [len(run.tokens), len(run.model.blocks)]
    assert int(heads) == sum(block.attn.W_Q.shape[0] for block in run.model.blocks)
    assert int(d_model) == run.model.embed.W_E.shape[1]
    _, cache = run.model.run_with_cache(run.tokens[None])
    assert float(first) == pytest.approx(float(cache["resid_pre", 0][0, -1].norm()), rel=5e-3)  # of three digits
    assert float(last) == pytest.approx(float(cache["resid_post", -1][0, -1].norm()), rel=5e-3)  # of three digits


def test_a_large_count_reads_as_it_does_above_the_page() -> None:
    cfg = SimpleNamespace(n_layers=32, n_heads=32)
    run = SimpleNamespace(tokens=range(4_335), cfg=cfg)
    assert (reading.OF_RUN["tokens"](run), reading.OF_RUN["heads"](run)) == ("4,335", "1,024")
