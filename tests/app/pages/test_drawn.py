"""What the residual, lens and prompts pages give their pictures to draw, against the models' own numbers."""

import re
import shutil
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.figures import Plot
from headlight.app.figures.layout import Trace
from headlight.app.pages.prompts import prompt_statistics
from headlight.app.pages.residual import maps
from headlight.app.pages.residual import view as residual_view
from headlight.app.parts import charts
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.runs import runs
from headlight.model import Transformer, compare, load, run_prompt, save_gpt2
from headlight.model.measure.alignment import align_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.pages.test_sides import on_axis, page
from tests.small_model import CFG

PROMPT_B = "one two four one two three one"
LAYERS = ("embed", "L0", "L1", "L2")


class Drawn:
    """Every call of a component that a view made: its arguments by place and by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, view: Any, *names: str) -> None:
        self.calls: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {name: [] for name in names}
        for name, calls in self.calls.items():
            monkeypatch.setattr(view, name, lambda *arrays, calls=calls, **rest: calls.append((arrays, rest)))

    def __getitem__(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return self.calls[name]


@dataclass(frozen=True)
class Figure:
    """The plots that a page had drawn as its one figure."""

    drawn: Drawn

    @property
    def plots(self) -> list[Plot]:
        """All of them, row by row."""
        (((rows, _), _),) = self.drawn["draw"]
        return [plot for row in rows for plot in row]

    def plot(self, title: str) -> Plot:
        """The only one whose title begins so."""
        (match,) = (plot for plot in self.plots if plot.title.startswith(title) and DIFFERENCE not in plot.title)
        return match

    def change(self, title: str) -> Plot:
        """That of B − A."""
        (match,) = (plot for plot in self.plots if plot.title.startswith(title) and DIFFERENCE in plot.title)
        return match


def values(trace: Trace) -> np.ndarray:
    """A trace's numbers up the plot, NaN where there is none."""
    return np.array(trace["y"], dtype=float)


@pytest.fixture(scope="module")
def both(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A run, and one of another prompt on a model with a layer less."""
    shallow = tmp_path_factory.mktemp("models") / "shallow"
    torch.manual_seed(1)
    save_gpt2(Transformer(replace(CFG, n_layers=2)), shallow)
    for file in run.source.path.glob("tokenizer*.json"):
        shutil.copy(file, shallow)
    b = runs.run(str(shallow), PROMPT_B, True)
    return Comparison(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What the residual page draws."""
    return Drawn(monkeypatch, residual_view, "cell_map")


@pytest.fixture
def figure(monkeypatch: pytest.MonkeyPatch) -> Figure:
    """The plots of the page's figure."""
    return Figure(Drawn(monkeypatch, charts, "draw"))


def norms(comparison: Comparison, side: str) -> np.ndarray:
    """[layer, place], from the model's own pass."""
    run = comparison.sides[side]
    with torch.inference_mode():
        _, cache = run.model.run_with_cache(run.tokens[None], names_filter=lambda name: "hook_resid" in name)
    streams = [cache["resid_pre", 0], *(cache["resid_post", layer] for layer in range(run.cfg.n_layers))]
    return on_axis(comparison, torch.stack([stream[0].norm(dim=-1) for stream in streams]), side)


def test_the_maps_of_norms_have_one_scale_and_the_embedding_at_the_bottom(both: Comparison, drawn: Drawn) -> None:
    page("residual", both)
    a, b, change = drawn["cell_map"][:3]
    expected = {side: norms(both, side) for side in "AB"}
    for side, ((norm_map,), _) in zip("AB", (a, b), strict=True):
        # Sums of a few dozen float32 squares in another order.
        np.testing.assert_allclose(norm_map.values[::-1], expected[side], rtol=1e-5)
        assert norm_map.rows.labels == LAYERS[: len(norm_map.values)][::-1]
        assert (norm_map.columns.labels, norm_map.columns.numbered) == (both.labels, True)
        all_norms = np.concatenate([array.ravel() for array in expected.values()])
        np.testing.assert_allclose(norm_map.ends, [np.nanmin(all_norms), np.nanmax(all_norms)], rtol=1e-5)
        assert norm_map.scale == "log"
    (changed,), _ = change
    differences = expected["B"] - expected["A"][:3]
    np.testing.assert_allclose(changed.values[::-1], differences, atol=1e-4)  # of lengths of about 10
    assert (changed.scale, changed.ends) == ("signed", None)
    assert np.isnan(changed.values).any()


def test_a_stream_of_zeros_has_no_place_on_the_scale() -> None:
    assert maps._ends({"A": np.array([[0.0, 2.0], [8.0, np.nan]])}) == (2, 8)
    assert maps._ends({"A": np.zeros((1, 1))}) == (1, 1)


def test_the_chosen_token_is_a_strong_line_over_all(both: Comparison, figure: Figure) -> None:
    place = both.presence.index("b")
    page("residual", both, position=place)
    plot = figure.plot("Residual stream norm")
    assert (plot.x.labels, plot.y.title, plot.y.kind) == (LAYERS, "L2 norm", "log")
    every, b = plot.traces  # A has no such token
    assert (b["name"], b["line"]["dash"]) == ("B", "dash")
    np.testing.assert_allclose(values(b), [*norms(both, "B")[:, place], np.nan], rtol=1e-5)
    faint = values(every).reshape(2 * len(both.labels), len(LAYERS) + 1)[:, :-1]  # without the gaps between lines
    np.testing.assert_allclose(faint[: len(both.labels)], norms(both, "A").T, rtol=1e-5)


def test_b_less_a_is_a_line_of_its_own(both: Comparison, figure: Figure) -> None:
    page("residual", both)
    place = both.default_place
    a, b = (trace for trace in figure.plot("Residual stream norm").traces if trace["name"] != "every token")
    assert [(line["name"], line["line"]["dash"]) for line in (a, b)] == [("A", "solid"), ("B", "dash")]
    (change,) = figure.change("Residual stream norm").traces
    expected = norms(both, "B")[:, place] - norms(both, "A")[:3, place]
    np.testing.assert_allclose(values(change)[:3], expected, atol=1e-4)  # of lengths of about 10
    assert figure.change("Residual stream norm").y.title == "change (L2 norm)"


def test_a_token_that_is_called_b_is_no_run_b(both: Comparison, figure: Figure) -> None:
    alone = Comparison(replace(both.a, labels=("B",) * len(both.a.labels)))
    page("residual", alone)
    _, line = figure.plot("Residual stream norm").traces
    assert (line["name"], line["line"]["dash"]) == ("B", "solid")
    bars = figure.plot("Component norms").traces
    assert not any(bar["marker"]["pattern"]["shape"] for bar in bars)


def test_bars_stand_at_their_layers_and_those_of_b_beside_them_hatched(both: Comparison, figure: Figure) -> None:
    page("residual", both, position=1)
    plot, shares = figure.plot("Component norms"), figure.plot("Share of the final stream")
    assert (plot.x.labels, plot.y.title, shares.y.title) == (LAYERS, "L2 norm", "share")
    kinds = ("token", "position", "attention", "MLP")
    bars = {bar["name"]: bar for bar in plot.traces}
    assert list(bars) == [f"{kind}, {side}" for kind in kinds for side in "AB"]
    assert [bar["marker"]["pattern"]["shape"] for bar in plot.traces] == ["", "/"] * 4
    assert len({bar["marker"]["color"] for bar in plot.traces}) == 4
    for side, run in both.sides.items():
        with torch.inference_mode():
            _, cache = run.model.run_with_cache(run.tokens[None])
        position = both.positions(run)[1]
        parts = {
            "token": [cache["embed"]],
            "position": [cache["pos_embed"]],
            "attention": [cache["attn_out", layer] for layer in range(run.cfg.n_layers)],
            "MLP": [cache["mlp_out", layer] for layer in range(run.cfg.n_layers)],
        }
        for kind, written in parts.items():
            first = 0 if kind in ("token", "position") else 1
            expected = np.full(len(LAYERS), np.nan)
            expected[first : first + len(written)] = [float(part[0, position].norm()) for part in written]
            np.testing.assert_allclose(values(bars[f"{kind}, {side}"]), expected, rtol=1e-5)
        # Shares of float32, whose parts are added up in another order.
        own = [values(bar) for bar in shares.traces if bar["name"].endswith(f", {side}")]
        assert np.nansum(own) == pytest.approx(1, abs=1e-4)
    for kind, change in zip(kinds, figure.change("Component norms").traces, strict=True):
        assert change["name"] == kind
        a, b = (values(bars[f"{kind}, {side}"]) for side in "AB")
        expected = np.where(np.isnan(a) & np.isnan(b), np.nan, np.nan_to_num(b) - np.nan_to_num(a))  # B lacks a layer
        np.testing.assert_allclose(values(change), expected, atol=1e-6)  # of float32 lengths of about 10


def test_cosines_are_one_with_themselves_and_changes_have_their_sign(both: Comparison, figure: Figure) -> None:
    page("residual", both)
    a, b, change = (plot for plot in figure.plots if plot.title.startswith("Cosine"))
    of_a, of_b, of_change = (np.array(plot.traces[0]["z"], float) for plot in (a, b, change))
    np.testing.assert_allclose(np.diag(of_a), 1, atol=1e-5)
    assert (a.x.labels, a.y.labels, a.y.down) == (LAYERS, LAYERS, True)
    np.testing.assert_allclose(of_change, of_b - of_a[:3, :3], atol=1e-7)  # float32 as text
    assert a.colours
    assert (a.colours.ends, a.colours.diverging) == ((0, 1), False)
    assert change.colours
    assert change.colours.diverging


def test_of_two_models_the_parts_that_only_one_has_stand_alone(figure: Figure) -> None:
    """mini embeds tokens and positions, mini-llama tokens alone."""
    page("residual", compare(*(run_prompt(load(name), "one two three") for name in ("mini", "mini-llama"))))
    shares = figure.plot("Share of the final stream")
    names = [bar["name"] for bar in shares.traces]
    assert names == [
        *("token, A", "token, B", "position, A"),
        *("attention, A", "attention, B", "MLP, A", "MLP, B"),
    ]
    own = {bar["name"]: values(bar) for bar in shares.traces}
    change = {bar["name"]: values(bar) for bar in figure.change("Share of the final stream").traces}
    assert list(change) == ["token", "position", "attention", "MLP"]
    np.testing.assert_array_equal(change.pop("position"), -own["position, A"])
    for kind, numbers in change.items():
        np.testing.assert_allclose(numbers, own[f"{kind}, B"] - own[f"{kind}, A"], atol=1e-7)  # of shares in float32


def test_the_best_tokens_of_both_runs_share_their_scale(both: Comparison, figure: Figure) -> None:
    page("lens", both, position=1, layer=1, target=" two")
    a, b = (plot for plot in figure.plots if plot.title.startswith("Top tokens"))
    (bars_of_a, room_of_a), (bars_of_b, room_of_b) = a.traces, b.traces
    assert max(room_of_a["x"]) == max(room_of_b["x"]) > max(bars_of_a["x"] + bars_of_b["x"])
    for bars in (bars_of_a, bars_of_b):
        shares = bars["x"]
        assert shares == sorted(shares, reverse=True)
        assert bars["text"] == [f"{share:.2%}" for share in shares]
    plot = figure.plot("Tracked token ␣two")
    assert [(line["name"], line["line"]["dash"]) for line in plot.traces] == [
        ("A", "solid"),
        ("B", "dash"),
        (DIFFERENCE, "dot"),
    ]
    assert np.isnan(values(plot.traces[1])).tolist() == [False, False, False, True]
    assert plot.y.kind == "percent"
    for line, run in zip(plot.traces, both.runs, strict=False):
        texts = line["hovertext"][: len(run.layer_labels)]
        assert all(re.search(r"rank [\d,]+$", each) for each in texts)


def test_every_heads_mean_is_told_with_its_deviation_and_count(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(monkeypatch, prompt_statistics, "cell_map")
    once = runs.HeadStatistics(1, run.scores)
    thrice = runs.HeadStatistics(
        1, {name: replace(measure, values=3 * measure.values) for name, measure in run.scores.items()}
    )

    def script(run: object, known: object) -> None:  # its text alone is run: no global names
        from headlight.app import selection
        from headlight.app.pages.prompts import prompt_statistics
        from tests.app.choosing import selection_of

        if selection.active() is None:
            selection.accept(selection_of(statistic="entropy"))
        prompt_statistics.draw(run, known)

    at = AppTest.from_function(script, args=(run, [once, thrice])).run()
    assert not at.exception
    ((of_mean,), _), ((of_sd,), _) = drawn["cell_map"]
    mean, sd = of_mean.values, of_sd.values
    entropy = run.scores["entropy"].values.numpy()
    np.testing.assert_allclose(mean, 2 * entropy, rtol=1e-5)  # float32
    np.testing.assert_allclose(sd, np.sqrt(2) * entropy, rtol=1e-5)
    np.testing.assert_array_equal(of_mean.details["standard deviation"], sd)
    np.testing.assert_array_equal(of_sd.details["mean"], mean)
    assert (of_mean.details["prompts"] == 2).all()
    assert (of_mean.rows.labels[2], of_mean.columns.labels[4]) == ("L2", "H4")


def test_the_figure_of_prompts_counts_them_and_has_every_heads_deviation(run: Run) -> None:
    known = [
        runs.HeadStatistics(
            1, {name: replace(measure, values=by * measure.values) for name, measure in run.scores.items()}
        )
        for by in (1, 3, 5)
    ]
    ((counted, heads),) = prompt_statistics.rows(known, (1, 2), "entropy")
    entropy = run.scores["entropy"].values.numpy()
    np.testing.assert_allclose(counted.traces[0]["x"], entropy[1, 2] * np.array([1, 3, 5]), rtol=1e-6)
    np.testing.assert_allclose(values(heads.traces[0]), 3 * entropy.ravel(), rtol=1e-5)  # float32
    np.testing.assert_allclose(heads.traces[0]["error_y"]["array"], 2 * entropy.ravel(), rtol=1e-4, atol=1e-6)
