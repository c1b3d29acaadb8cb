"""The page *MLP* without a browser: what it lists and adds up to, what is chosen in it, and what it refuses."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from headlight.app.components import Table
from headlight.app.exports.style import LIGHT
from headlight.app.pages.mlp import EXPORT, VIEW, charts, one, over_prompts, view
from headlight.app.pages.mlp.choices import Choices
from headlight.app.pages.mlp.neuron_view import NeuronView, find
from headlight.app.runs import comparisons, runs
from headlight.app.selection.links import from_query, to_query
from headlight.model import Transformer, TransformerConfig
from headlight.model.attribution.logits import Question, logit_attribution
from headlight.model.checkpoints.families.headlight import save_transformer
from headlight.model.measure.difference import with_difference
from headlight.model.neurons.activations import over_prompt
from headlight.model.neurons.tables import BIASES, MEASURED, WRITTEN
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateNeurons, neuron_name
from headlight.model.runs.run import Run, run_prompt
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.pages.test_sides import page
from tests.places import MINI
from tests.tiny import KINDS, SIZES, open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where neurons are zeroed side by side


def neuron_view(run: Run, **fields: object) -> NeuronView:
    return find(Comparison(run), selection_of(**fields))


def test_the_bars_add_up_to_what_the_mlps_add_directly(run: Run) -> None:
    its = neuron_view(run, position=4)
    whole = logit_attribution(run, Question(its.question.target, its.question.distractor, 4))
    mlps = sum(
        value for name, value in zip(whole.names, whole.values.values.tolist(), strict=True) if name.endswith("MLP")
    )
    *rows, total = charts.neurons(its).traces[0]["x"]
    assert total == pytest.approx(mlps, rel=1e-5, abs=1e-6)
    assert sum(rows) == pytest.approx(total, rel=1e-5, abs=1e-6)
    assert BIASES not in its.sums  # which are zeros
    assert its.sum_of(WRITTEN) == pytest.approx(its.total_of("direct effect"), rel=1e-5, abs=1e-6)


def test_neurons_are_ranked_by_size_over_all_layers_or_in_one(run: Run) -> None:
    every, of_one = neuron_view(run), neuron_view(run, neurons_layer=1)
    sizes = [abs(float(every.values["direct effect"].values[neuron])) for neuron in every.neurons]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == float(every.values["direct effect"].values.abs().max())
    assert {layer for layer, _ in of_one.neurons} == {1}
    assert every.neuron == every.neurons[0]
    assert neuron_view(run, neuron=(1, 7)).neuron == (1, 7)
    assert neuron_view(run, neuron=(1, 99_999)).neuron == every.neurons[0]


def test_the_page_shows_a_neuron_and_ablates_it_everywhere(run: Run, folder: str, options: Options) -> None:
    at = page("mlp", Comparison(run), model=folder, prompt=run.prompt, neuron=(1, 7), neurons_measured=True)
    assert not at.exception
    assert any("activation" in text.value and text.value.startswith("at ") for text in at.text)
    options.change(at, "ablate_neuron", None)
    pending = at.session_state["headlight"].pending
    assert pending.edits == (AblateNeurons(((1, 7),)),)
    assert from_query(to_query(pending), [Choices])[0].edits == pending.edits
    both = comparisons.for_selection(pending)
    assert both.b is not None
    strip = one.strip(find(both, pending))
    assert abs(strip["B"]).max() == 0
    assert abs(strip["A"]).max() > 0


def test_what_was_measured_stands_beside_the_rest(run: Run) -> None:
    its = neuron_view(run, neurons_measured=True, neurons_count=4)
    assert len(its.of_listed(MEASURED)) == 4
    assert len(charts.neurons(its).traces[0]["x"]) == len(charts.neurons(its).traces[1]["x"])


def test_tables_have_as_many_decimals_as_their_numbers_need(
    run: Run, folder: str, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a model of small effects fixed decimals would be zeros."""
    drawn: list[Table] = []
    for module in (view, one):
        monkeypatch.setattr(module, "row_table", lambda table, **_: drawn.append(table))
    assert not page("mlp", Comparison(run), model=folder, prompt=run.prompt).exception
    numbers = [column for table in drawn for column in table.columns if isinstance(column.cells[0], float)]
    assert {"direct", "by", "composition"} <= {column.name for column in numbers}
    assert {column.decimals for column in numbers} == {None}


def test_a_neuron_is_run_over_the_prompts_of_the_list(run: Run, folder: str) -> None:
    """Its largest activation on each, as a run of that prompt has it; the strongest first, and opened as prompt A."""
    wanted = [(folder, text, True, (1, 7)) for text in (run.prompt, OTHER)]
    its = neuron_view(run, model=folder, prompt=run.prompt, neuron=(1, 7))
    assert over_prompts.known(its, wanted) == []
    for inputs in wanted:
        runs.neuron_over(*inputs)
    rows = over_prompts.known(its, wanted)
    assert [float(row.values.max()) for row in rows] == sorted((float(row.values.max()) for row in rows), reverse=True)
    for row in rows:
        own = over_prompt(run_prompt(run.model, row.text), (1, 7)).values.values.numpy()
        np.testing.assert_allclose(row.values, own, rtol=1e-4, atol=1e-5)  # float32, by a pass of its own
        assert row.at == int(own.argmax())


def test_experts_have_no_such_page(tmp_path: Path, run: Run) -> None:
    experts = run_prompt(open_tiny("gpt_oss-like", tmp_path / "experts"), run.prompt)
    assert "several experts" in VIEW.needs(Comparison(experts))
    assert not VIEW.needs(Comparison(run))


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two models of which one has more layers and no gates, the other wider MLPs that are gated."""
    folders = []
    for kind, sizes in (("gpt2-like", {}), ("llama-like", {"n_layers": 2, "d_mlp": 31})):
        folders.append(str(tmp_path_factory.mktemp("models") / kind))
        save_transformer(Transformer(TransformerConfig(**(SIZES | KINDS[kind] | sizes))), Path(folders[-1]))
        for file in MINI.glob("tokenizer*.json"):
            shutil.copy(file, folders[-1])
    return folders[0], folders[1]


@pytest.mark.parametrize("side", ["a", "b", "difference"])
@pytest.mark.parametrize("order", [1, -1])
def test_models_with_other_mlps_stand_side_by_side(unlike: tuple[str, str], order: int, side: str) -> None:
    a, b = unlike[::order]
    text = {"prompt": "one two three", "prompt_b": "one two three"}
    selection = selection_of(model=a, model_b=b, side=side, neurons_count=60, **text)
    both = comparisons.for_selection(selection)
    its, effects = find(both, selection), {}
    for name, run in both.sides.items():
        whole = logit_attribution(run, Question(its.question.target, its.question.distractor, its.question.place))
        named = zip(whole.names, whole.values.values.tolist(), strict=True)
        effects[name] = sum(value for part, value in named if part.endswith("MLP"))
    *rows, total = charts.neurons(its).traces[0]["x"]
    expected = with_difference(effects)[its.side]
    # Float32 sums of some dozen effects of size 1, taken in another order.
    assert total == pytest.approx(expected, abs=1e-4)
    assert sum(rows) == pytest.approx(expected, abs=1e-4)
    table = EXPORT.data(both, selection).tables["neurons"]
    gated = {run for run, gate in zip(table["run"], table["gate"], strict=True) if gate is not None}
    assert gated == {"B" if order == 1 else "A"}
    for run, neuron, effect in zip(table["run"], table["neuron"], table["direct effect"], strict=True):
        layer, index = (int(each) for each in neuron[1:].split("N"))
        cfg = both.sides[run].cfg if run in both.sides else None
        assert (effect is None) == (layer >= (cfg.n_layers if cfg else 2) or index >= (cfg.d_mlp if cfg else 22))
    assert EXPORT.page(both, selection)
    assert EXPORT.picture(both, selection, LIGHT)


CASES: list[dict[str, object]] = [
    {"neuron": (1, 7), "position": 5, "neurons_measured": True, "neurons_count": 5},
    {"prompt_b": OTHER, "side": "difference", "neurons_by": "gradient"},
    {"edits": (AblateNeurons(((0, 3),), "mean"),), "neurons_layer": 1, "neurons_by": "activation", "side": "b"},
]


@pytest.mark.parametrize("fields", CASES)
def test_the_script_prints_the_pages_numbers(fields: dict[str, object], folder: str) -> None:
    selection = chosen(folder, **fields)
    both = comparisons.for_selection(selection)
    compare(run_here(EXPORT.script(both, selection)), EXPORT, fields, folder)
    tables = EXPORT.data(both, selection).tables
    listed = set(tables["neurons"]["neuron"])
    assert {neuron_name(neuron) for neuron in find(both, selection).neurons} == listed
