"""The page *Why*: what it tells, what can be typed and chosen there, and what it says is missing."""

import re

import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.pages.patching import patches
from headlight.app.pages.why.chosen import sides_of
from headlight.app.parts.labels import number
from headlight.app.parts.pair import pair_of, typeable
from headlight.app.runs import comparisons, runs
from headlight.app.selection import Selection
from headlight.model.attribution.tables import summary
from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import align_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.test_sides import page
from tests.app.pages.why.cells import HEAD, SUM, at_cell

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows on the way where interventions run side by side


def test_a_cell_above_the_diagonal_says_so(run: Run, options: Options) -> None:
    with pytest.raises(InputError, match="Query 2 cannot look at key 5, which comes after it"):
        at_cell(Comparison(run), queries=(2,), keys=(5,))
    at = page("why", Comparison(run), queries=(2,), keys=(5,))
    assert "Choose a key from 0 to 2" in at.info[0].value
    assert {"why_head", "why_query", "why_key"} <= options.drawn.keys()


def test_a_place_that_only_one_run_has(folder: str, run: Run) -> None:
    b = runs.run(folder, "one two two three one", True)
    both = Comparison(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))
    only_a = both.presence.index("a")
    sides, missing = sides_of(both, Selection(heads=(HEAD,), position=only_a))
    assert set(sides) == {"A"}
    assert "B has no token at the place" in missing["B"]
    at = page("why", both, position=only_a, side="b")
    assert "B has no token" in at.info[0].value


@pytest.mark.parametrize(
    ("field", "text", "remark"),
    [
        ("target", "one two", "tokens (one ␣two), not one"),
        ("distractor", "one two", "The distractor is ignored: 'one two' is"),
        ("target", "the", "“the” has no leading space. A separate word inside a sentence is “␣the”"),
    ],
)
def test_what_was_typed_is_remarked_on(run: Run, field: str, text: str, remark: str) -> None:
    pair = pair_of(Comparison(run), Selection(**{field: text}))  # type: ignore[arg-type]
    assert remark in pair.remarks[0]
    assert pair.target != pair.distractor


def test_the_same_token_twice_is_remarked_on(run: Run) -> None:
    pair = pair_of(Comparison(run), Selection(target=" two", distractor=" two"))
    assert "the same token" in pair.remarks[-1]
    assert pair.target == pair.distractor == run.tokenizer.to_single_token(" two")


def test_a_token_typed_leaves_the_likeliest_other_one(run: Run) -> None:
    first, second = run.next_logits.topk(2).indices.tolist()
    typed = typeable(run, first)
    assert typed is not None
    assert pair_of(Comparison(run), Selection(distractor=typed)).target == second
    assert pair_of(Comparison(run), Selection(target=typed)).distractor == second


def test_every_token_that_can_be_swapped_comes_back(run: Run) -> None:
    texts = {token: typeable(run, token) for token in range(0, run.cfg.d_vocab, 37)}
    for token, text in texts.items():
        assert text is None or run.tokenizer.to_single_token(text, parse_special=True) == token
    assert sum(text is not None for text in texts.values()) > 0.8 * len(texts)


def _texts(at: AppTest) -> str:
    return "\n".join(each.value.replace("\\", "") for each in (*at.text, *at.caption))


def test_the_page_tells_what_it_computed(run: Run) -> None:
    at = page("why", Comparison(run), heads=(HEAD,))
    explained = at_cell(Comparison(run))
    assert f"score {number(float(explained.why.parts.score.values))}, weight" in _texts(at)
    assert f"the model's logit difference is {number(float(explained.effects.difference.values))}" in _texts(at)
    assert number(float(explained.written.norm.values)) in _texts(at)


def test_tokens_of_two_runs_are_numbered_by_their_places(run: Run, folder: str) -> None:
    """B has a token that A lacks before those that both have, so that its positions are not the places."""
    both = comparisons.for_selection(
        selection_of(model=folder, prompt="one two three two", prompt_b="four one two three two")
    )
    assert both.b is not None
    place, label = both.default_place, both.labels[both.default_place]
    assert both.positions(both.a)[place] != place
    for side, view in (("a", "why"), ("b", "why"), ("a", "inside"), ("b", "inside"), ("a", "mlp"), ("a", "flow")):
        at = page(view, both, heads=(HEAD,), side=side, queries=(place,), keys=(place,), table=view == "inside")
        said = " ".join(each.value for each in (*at.text, *at.caption))
        numbers = {int(place_text) for place_text in re.findall(rf"(\d+) {re.escape(label)}", said)}
        assert numbers <= {index for index, each in enumerate(both.labels) if each == label}, view
        assert place in numbers or view != "why"
        assert {int(place_text) for place_text in re.findall(r"^Key (\d+)", said, re.MULTILINE)} <= {place}


def test_the_distractor_is_what_b_says_on_every_page(run: Run, folder: str) -> None:
    texts = {"prompt": "one two three two", "prompt_b": "one two three four"}
    chosen = selection_of(model=folder, align="position", position=4, target=" three", **texts)
    both = comparisons.for_selection(chosen)
    assert both.b is not None
    with torch.inference_mode():
        says_a, says_b = (int(each.model(each.tokens[None])[0, -1].argmax()) for each in both.runs)
    assert says_a != says_b
    assert [answer.distractor for answer in (pair_of(both, chosen), patches.pair(both, chosen))] == [says_b] * 2
    for without in (Comparison(both.a), Comparison(both.a, both.a, align_tokens(range(5), range(5)))):
        assert pair_of(without, chosen).distractor == says_a
    untyped = selection_of(model=folder, align="position", position=4, **texts)
    assert pair_of(both, untyped).distractor != pair_of(both, untyped).target == says_a


def test_tables_hold_the_same_numbers(run: Run) -> None:
    at = page("why", Comparison(run), heads=(HEAD,), table=True)
    query, key, promoted, interventions, effects, layers, sources = (table.value for table in at.dataframe)
    explained = at_cell(Comparison(run))
    score = float(explained.why.parts.score.values)
    assert query["score"].iloc[-1] == pytest.approx(score, abs=SUM)
    assert key["score"].iloc[:-1].sum() == pytest.approx(score, abs=SUM)
    assert interventions["total (logits)"].tolist() == pytest.approx(explained.outcomes.total.values.tolist())
    assert effects["logits"].sum() == pytest.approx(float(explained.effects.difference.values), abs=SUM)
    assert layers["logit lens"].tolist() == pytest.approx(explained.effects.lens.values.tolist())
    assert sources["logits"].tolist() == pytest.approx(explained.by_source.values.tolist())
    assert promoted["by (logits)"].tolist() == pytest.approx(explained.written.tokens.raised_by.values.tolist())


@pytest.mark.parametrize("side", ["a", "b", "difference"])
@pytest.mark.parametrize("table", [False, True])
def test_every_side_is_drawn(both: Comparison, side: str, table: bool) -> None:
    at = page("why", both, side=side, table=table, heads=(HEAD,))
    columns = at.dataframe[0].value
    sides = {name: summary(at_cell(both, name)) for name in "AB"}
    expected = [number(sides["B"][name] - sides["A"][name]) for name in sides["A"]]
    assert columns["B − A"].tolist() == expected


def test_choices_are_kept_by_the_selection(run: Run, options: Options) -> None:
    at = page("why", Comparison(run), heads=(HEAD, (0, 0)))
    options.change(at, "why_head", "L2H1")
    options.change(at, "why_position", f"5  {run.labels[5]}")
    options.change(at, "why_key", f"2  {run.labels[2]}")
    options.change(at, "target", " two")
    chosen = at.session_state["headlight"].active
    assert (chosen.heads, chosen.position, chosen.keys, chosen.target) == (((2, 1), (0, 0)), 5, (2,), " two")
    options.change(at, "why_strongest", None)
    assert at.session_state["headlight"].active.keys == ()
    assert "why_strongest" not in options.drawn


def test_swapping_turns_the_difference(run: Run, options: Options) -> None:
    at = page("why", Comparison(run), target=" two", distractor=" one")
    before = float(pair_difference(at))
    options.change(at, "swap_pair", None)
    chosen = at.session_state["headlight"].active
    assert (chosen.target, chosen.distractor) == (" one", " two")
    assert float(pair_difference(at)) == -before


def test_the_token_that_the_text_goes_on_with_is_explained_by_a_click(run: Run, options: Options) -> None:
    logits = run.model(run.tokens[None])[0]
    place = next(at for at in range(1, len(run.tokens) - 1) if int(logits[at].argmax()) != int(run.tokens[at + 1]))
    written = int(run.tokens[place + 1])
    at = page("why", Comparison(run), position=place)
    options.change(at, "why_written", None)
    chosen = at.session_state["headlight"].active
    assert run.tokenizer.to_single_token(chosen.target) == written
    pair = pair_of(Comparison(run), chosen)
    assert (pair.target, pair.distractor) == (written, int(logits[place].argmax()))
    assert "why_written" not in options.drawn  # it is the target
    page("why", Comparison(run))
    assert "why_written" not in options.drawn  # behind the last token there is none


def pair_difference(at: AppTest) -> str:
    """The difference that the page tells."""
    line = next(text.value for text in at.text if "difference " in text.value)
    return line.rpartition("difference ")[2].removesuffix(" logits").replace("−", "-")
