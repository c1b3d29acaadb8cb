"""The drawer of edits, without a browser: every kind is made by its form, switched, removed, and measured."""

from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor

from headlight.app.components import CellMap, Table
from headlight.app.frame.edits import effect
from headlight.app.frame.prompt_list import Prompt
from headlight.app.parts.pair import pair_of
from headlight.app.runs import comparisons, runs
from headlight.app.runs.prompts import examples
from headlight.app.selection import from_query
from headlight.model.measure.alignment import Alignment
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import (
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    EditFeature,
    FreezePatterns,
    Patch,
    Steer,
    describe,
    to_text,
)
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.places import MAIN
from tests.saved_dictionary import save_dictionary
from tests.small_model import CFG

PROMPT, OTHER = "one two three one two three", "one three two three two one"
REPEATED = examples()[0].prompt
SECONDS = 60  # for one script run on a busy machine


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """The tables of what the edits change, which only a browser draws."""
    drawn: list[Table] = []
    monkeypatch.setattr(effect, "row_table", lambda table, **_: drawn.append(table))
    return drawn


@pytest.fixture
def page(settings: dict[str, object]) -> AppTest:
    """A session with the drawer open."""
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.query_params["prompt"] = PROMPT
    page.query_params["heads"] = "1.2 0.3"
    page.session_state["edits.open"] = True
    return page


def _run(page: AppTest) -> AppTest:
    page.run()
    assert not page.exception
    return page


def _edits(page: AppTest) -> tuple[Edit, ...]:
    return from_query({name: str(value) for name, value in page.query_params.items()})[0].edits


def _fill(page: AppTest, field: str, value: object) -> None:
    """What the form's own options do when something is chosen in them; for the button that is True."""
    page.session_state[f"edits.{field}"] = value


def _add(page: AppTest) -> None:
    _fill(page, "add", True)
    _run(page)


def _captions(page: AppTest) -> list[str]:
    return [caption.value for caption in page.caption]


def _texts(page: AppTest) -> list[str]:
    return [text.value for text in page.text]


MADE: list[tuple[dict[str, object], Edit]] = [
    ({"kind": "ablate"}, AblateHeads(((1, 2), (0, 3)))),
    ({"kind": "ablate", "by": "resample", "prompt": OTHER}, AblateHeads(((1, 2), (0, 3)), "resample", OTHER)),
    ({"kind": "cut", "query": 4, "key": 2, "renormalise": True}, CutEdge((1, 2), 4, 2, True)),
    ({"kind": "freeze", "layers": (0, 2)}, FreezePatterns((0, 2))),
    (
        {"kind": "patch", "name": "attn.hook_z", "patch_layer": 1, "one_head": 3, "positions": (5, 2), "prompt": OTHER},
        Patch("blocks.1.attn.hook_z", OTHER, (2, 5), 3),
    ),
    ({"kind": "patch", "name": "hook_embed", "prompt": OTHER}, Patch("hook_embed", OTHER)),
    (
        {"kind": "steer", "layer": 2, "toward": "one", "away": OTHER, "mode": "scale", "factor": -1.5},
        Steer(2, "one", OTHER, -1.5, (), "scale"),
    ),
    ({"kind": "drop", "layer": 1, "part": "MLP"}, Drop(1, "MLP")),
    ({"kind": "neurons", "layer": 1, "neuron": 7, "by_neuron": "mean"}, AblateNeurons(((1, 7),), "mean")),
    (
        {"kind": "neurons", "neuron": 7, "by_neuron": "resample", "prompt": OTHER, "positions": (1,)},
        AblateNeurons(((0, 7),), "resample", OTHER, (1,)),
    ),
    (
        {"kind": "neurons", "neuron": 7, "by_neuron": "clamp", "value": 2.5, "positions": (3, 1)},
        ClampNeurons(((0, 7),), 2.5, (1, 3)),
    ),
]


FEATURES: list[tuple[dict[str, object], Edit]] = [
    ({"kind": "feature", "feature": 7}, EditFeature("sae", "blocks.1.hook_resid_pre", 7)),
    (
        {"kind": "feature", "feature": 7, "how": "clamp", "feature_factor": 2.5, "positions": (3, 1)},
        EditFeature("sae", "blocks.1.hook_resid_pre", 7, "clamp", 2.5, (1, 3)),
    ),
]


@pytest.mark.parametrize(
    ("filled", "edit"), FEATURES, ids=lambda each: "" if isinstance(each, dict) else describe(each)
)
def test_an_edit_of_a_feature_is_made_by_its_form(
    page: AppTest,
    filled: dict[str, object],
    edit: Edit,
    options: Options,
    settings: dict[str, object],
    tables: list[Table],
    tmp_path: Path,
) -> None:
    save_dictionary(tmp_path / "sae", "blocks.1.hook_resid_pre", CFG.d_model)
    settings["models_folder"] = str(tmp_path)
    _run(page)
    for field, value in filled.items():
        _fill(page, field, value)
        _run(page)
    _add(page)
    assert _edits(page) == (edit,)
    assert "KL(before ‖ after)" in tables[-1].columns[0].cells


def _predicted(options: Options, side: str) -> list[str]:
    return [option.label for name, option in options.drawn.items() if name.startswith(f"predicted_{side}")]


@pytest.mark.parametrize(
    ("filled", "edit"), MADE, ids=lambda each: describe(each) if not isinstance(each, dict) else ""
)
def test_every_kind_is_made_by_its_form(
    page: AppTest, filled: dict[str, object], edit: Edit, options: Options, tables: list[Table]
) -> None:
    _run(page)
    before = _predicted(options, "A")
    for field, value in filled.items():
        _fill(page, field, value)
        _run(page)
    _add(page)
    assert _edits(page) == (edit,)
    assert options.drawn["edit_on_0"].label.startswith(describe(edit))
    assert _predicted(options, "A") == before
    assert len(_predicted(options, "B")) == 3
    assert [column.name for column in tables[-1].columns] == ["Measure", "Before → after"]
    assert "KL(before ‖ after)" in tables[-1].columns[0].cells


def test_an_edge_is_offered_where_run_a_has_what_is_pinned(page: AppTest, options: Options) -> None:
    """B puts three tokens before what both have: places 5 and 1 are A's own positions 2 and 1."""
    page.query_params.update({"prompt": "one two three two", "prompt_b": "four one two three two"})
    page.query_params.update({"queries": "5", "keys": "1"})
    _run(page)
    _fill(page, "kind", "cut")
    _run(page)
    _add(page)
    assert _edits(page) == (CutEdge((1, 2), 2, 1),)


def test_an_edit_is_switched_off_and_another_removed(page: AppTest, options: Options, tables: list[Table]) -> None:
    edits = (Drop(0), Drop(1), FreezePatterns())
    page.query_params["edits"] = " ".join(map(to_text, edits))
    page.query_params["edits_off"] = "2"
    _run(page)
    assert [options.drawn[f"edit_on_{place}"].value for place in range(3)] == [True, True, False]
    options.change(page, "edit_on_1", False)
    assert page.query_params["edits_off"] == "1 2"
    assert tables
    tables.clear()
    options.change(page, "remove_0", None)
    assert _edits(page) == edits[1:]
    assert page.query_params["edits_off"] == "0 1"
    assert not tables


def test_an_edit_that_is_refused_is_not_added_and_a_stays(page: AppTest) -> None:
    _run(page)
    _fill(page, "kind", "patch")
    _run(page)
    _fill(page, "name", "attn.hook_pattern")
    _fill(page, "prompt", "one two")
    _run(page)
    assert "3 of the 7 positions are matched with the other prompt's 3; the others are not patched." in _captions(page)
    _add(page)
    assert "B: Edit 1: The prompt 'one two' has 3 tokens and the edited one 7" in _texts(page)[0]
    assert _edits(page) == ()


def test_a_prompt_of_another_length_is_matched_by_tokens_or_by_position(page: AppTest) -> None:
    _run(page)
    _fill(page, "by", "resample")
    _run(page)
    _fill(page, "prompt", f"three {PROMPT}")
    _run(page)
    assert "6 of the 7 positions are matched with the other prompt's 9; the others are not patched." in _captions(page)
    _fill(page, "align", "position")
    _run(page)
    _add(page)
    assert _edits(page) == (AblateHeads(((1, 2), (0, 3)), "resample", f"three {PROMPT}", (), "position"),)


def test_the_mean_over_the_listed_prompts_is_run_and_goes_into_the_edit(page: AppTest) -> None:
    listed = ("one two", "three", PROMPT)
    _run(page)
    page.session_state["prompt_list"].prompts = tuple(Prompt(text, "a.txt") for text in (*listed, "far too long " * 99))
    _run(page)
    _fill(page, "by", "listed")
    for _ in range(4):  # a slice of the work each time
        _run(page)
    _add(page)
    (edit,) = _edits(page)
    assert edit == AblateHeads(((1, 2), (0, 3)), "mean", over=listed)
    assert "ablated (mean over 3 prompts)" in "".join(_texts(page))


def test_the_effect_names_the_likeliest_tokens(settings: dict[str, object]) -> None:
    a, same = (runs.run("mini", REPEATED, True, edits) for edits in ((), (FreezePatterns(),)))
    assert effect.of_output(a, same) == {
        "Most likely next token": "“␣key” 96.0% → “␣key” 96.0%",
        "KL(before ‖ after)": "0 nats",
    }
    other = runs.run("mini", REPEATED, True, (AblateHeads(((1, 0), (1, 1))),))  # its induction heads
    p, q = a.next_logits.double().softmax(-1), other.next_logits.double().softmax(-1)
    assert effect.of_output(a, other) == {
        "Most likely next token": f"“␣key” 96.0% → “␣club” {float(q.max()):.1%}",
        "KL(before ‖ after)": f"{float((p * (p / q).log()).sum()):.3g} nats",
    }


def test_beside_a_prompt_b_the_measured_change_is_that_of_runs_with_hooks(settings: dict[str, object]) -> None:
    """Each prompt is run through the model with the heads' outputs set to zero by a hook of this test's own."""
    prompt_b = REPEATED.replace("key", "dog")
    chosen = selection_of(model="mini", prompt=REPEATED, prompt_b=prompt_b, edits=(AblateHeads(((1, 0), (1, 1))),))
    comparison = comparisons.for_selection(chosen)
    assert comparison.b is not None
    assert comparison.b.prompt == prompt_b
    pair = pair_of(comparison, chosen)

    def zero(z: Tensor, hook: object) -> Tensor:
        z[:, :, :2] = 0
        return z

    for side, run in comparison.sides.items():
        with torch.inference_mode():
            after = run.model.run_with_hooks(run.tokens[None], fwd_hooks=[("blocks.1.attn.hook_z", zero)])[0, -1]
        shares, differences = effect.measured(comparison, chosen, side, comparisons.edited(chosen, side)).values()
        for logits, share, difference in zip(
            (run.next_logits, after), shares.split(" → "), differences.split(" → "), strict=True
        ):
            expected = float(logits.double().softmax(-1)[pair.target])
            is_small = expected < 0.001
            assert share.startswith("<") == is_small
            assert is_small or float(share.rstrip("%")) == pytest.approx(100 * expected, abs=0.051)  # one decimal
            gap = float(logits[pair.target] - logits[pair.distractor])
            assert float(difference.replace("−", "-")) == pytest.approx(gap, abs=0.0051)  # two


def test_beside_a_prompt_b_both_prompts_have_a_column(page: AppTest, tables: list[Table]) -> None:
    page.query_params.update({"prompt_b": OTHER, "edits": to_text(Drop(1))})
    _run(page)
    assert [column.name for column in tables[-1].columns] == ["Before → after", "A", "B"]
    assert all("→" in str(cell) or "nats" in str(cell) for column in tables[-1].columns[1:] for cell in column.cells)


def test_the_stream_is_changed_in_the_cone_alone(folder: str) -> None:
    a = runs.run(folder, PROMPT, True)
    b = runs.run(folder, PROMPT, True, (CutEdge((1, 2), 4, 3), Steer(2, "one", "two", positions=(2,))))
    changed, reached = effect.changes_of_stream(a, b)
    assert reached.tolist() == [
        [False] * 7,
        [False] * 7,
        [False, False, True, False, True, False, False],
        [False, False, True, True, True, True, True],
    ]
    assert not changed[~reached].any()
    assert changed[reached].all()


@pytest.mark.parametrize("factor", [1e-4, 300.0])
def test_a_change_that_does_not_matter_has_pale_colours(
    factor: float, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scale goes at least to a tenth of the stream's length, and as far as the largest change."""
    ends: list[tuple[float, float]] = []
    monkeypatch.setattr(effect, "cell_map", lambda drawn, **_: ends.append(drawn.ends))
    a, b = (runs.run(folder, PROMPT, True, edits) for edits in ((), (Steer(1, "one", "two", factor),)))
    places = tuple(range(len(a.tokens)))
    effect.draw_reach({"": Comparison(a, b, Alignment(places, places))})
    largest = max(
        float(((after - before).norm(dim=-1) / before.norm(dim=-1)).max())
        for before, after in zip(a.streams(), b.streams(), strict=True)
    )
    assert (largest < 0.1) is (factor < 1)
    assert ends == [(0.0, pytest.approx(max(0.1, largest), rel=1e-5))]  # float32


def test_the_map_leaves_out_what_is_not_reached(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    maps: list[CellMap] = []
    monkeypatch.setattr(effect, "cell_map", lambda drawn, **_: maps.append(drawn))
    page.query_params["edits"] = to_text(AblateHeads(((1, 2),)))
    _run(page)
    drawn, *_ = maps
    assert drawn.rows.labels == ("L2", "L1", "L0", "embed")
    assert np.isnan(drawn.values[2:]).all()  # what comes before the edit
    assert (drawn.values[:2] > 0).all()
    assert drawn.columns.labels[1:3] == ("one", "␣two")


def test_a_link_to_an_edit_that_cannot_be_made_says_why(page: AppTest) -> None:
    page.query_params["prompt"] = REPEATED
    page.query_params["edits"] = to_text(Drop(9))
    _run(page)
    assert "B: Edit 1: There is no layer 9: this model has layers 0 to 2" in _texts(page)[0]
