"""What the residual, lens and prompts pages give their pictures to draw, against the models' own numbers."""

import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from app import runs
from app.run import Run
from app.shown import Shown
from app.views import lens_cell, prompt_statistics, residual
from model import Transformer, save_gpt2
from model.analysis.alignment import align_tokens
from tests.app.conftest import CFG
from tests.app.test_sides import on_axis, page

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


@pytest.fixture(scope="module")
def both(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A run, and one of another prompt on a model with a layer less."""
    shallow = tmp_path_factory.mktemp("models") / "shallow"
    torch.manual_seed(1)
    save_gpt2(Transformer(replace(CFG, n_layers=2)), shallow)
    for file in run.source.path.glob("tokenizer*.json"):
        shutil.copy(file, shallow)
    b = runs.run(str(shallow), PROMPT_B, True)
    return Shown(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What the residual page draws."""
    return Drawn(monkeypatch, residual, "cell_map", "line_chart", "bar_chart")


def norms(shown: Shown, side: str) -> np.ndarray:
    """[layer, place], from the model's own pass."""
    run = shown.sides[side]
    with torch.inference_mode():
        _, cache = run.model.run_with_cache(run.tokens[None], names_filter=lambda name: "hook_resid" in name)
    streams = [cache["resid_pre", 0], *(cache["resid_post", layer] for layer in range(run.cfg.n_layers))]
    return on_axis(shown, torch.stack([stream[0].norm(dim=-1) for stream in streams]), side)


def test_the_maps_of_norms_have_one_scale_and_the_embedding_at_the_bottom(both: Shown, drawn: Drawn) -> None:
    page("residual", both)
    a, b, change = drawn["cell_map"][:3]
    expected = {side: norms(both, side) for side in "AB"}
    for side, ((values, rows, columns), rest) in zip("AB", (a, b), strict=True):
        # Sums of a few dozen float32 squares in another order.
        np.testing.assert_allclose(values[::-1], expected[side], rtol=1e-5)
        assert rows.labels == LAYERS[: len(values)][::-1]
        assert (columns.labels, columns.numbered) == (both.labels, True)
        all_norms = np.concatenate([of.ravel() for of in expected.values()])
        np.testing.assert_allclose(rest["ends"], [np.nanmin(all_norms), np.nanmax(all_norms)], rtol=1e-5)
        assert rest["scale"] == "log"
    (values, _, _), rest = change
    np.testing.assert_allclose(values[::-1], expected["B"] - expected["A"][:3], atol=1e-4)  # of lengths of about 10
    assert (rest["scale"], rest["ends"]) == ("signed", None)
    assert np.isnan(values).any()


def test_a_stream_of_zeros_has_no_place_on_the_scale() -> None:
    assert residual._ends({"A": np.array([[0.0, 2.0], [8.0, np.nan]])}) == (2, 8)
    assert residual._ends({"A": np.zeros((1, 1))}) == (1, 1)


def test_the_chosen_token_is_a_strong_line_over_all(both: Shown, drawn: Drawn) -> None:
    place = both.presence.index("b")
    page("residual", both, position=place)
    ((lines, places), rest) = drawn["line_chart"][0]
    assert places == LAYERS
    assert [(line.name, line.dashed) for line in lines] == [("A", False), ("B", True)]
    assert np.isnan(lines[0].values).all()  # A has no such token
    np.testing.assert_allclose(lines[1].values, [*norms(both, "B")[:, place], np.nan], rtol=1e-5)
    np.testing.assert_allclose(rest["faint"][: len(both.labels)], norms(both, "A").T, rtol=1e-5)
    assert len(rest["faint"]) == 2 * len(both.labels)
    assert rest["log"]


def test_a_token_that_is_called_b_is_no_run_b(both: Shown, drawn: Drawn) -> None:
    alone = Shown(replace(both.a, labels=("B",) * len(both.a.labels)))
    page("residual", alone)
    ((lines, _), _) = drawn["line_chart"][0]
    assert [(line.name, line.dashed) for line in lines] == [("B", False)]
    assert not any(bar.hatched for (bars, _), _ in drawn["bar_chart"] for bar in bars)


def test_bars_stand_at_their_layers_and_those_of_b_beside_them_hatched(both: Shown, drawn: Drawn) -> None:
    page("residual", both, position=1)
    ((bars, places), rest), (shares, _) = drawn["bar_chart"]
    assert (places, rest["title"]) == (LAYERS, "L2 norm")
    kinds = ("token embedding", "position embedding", "attention", "MLP")
    assert [bar.name for bar in bars] == [f"{kind}, {side}" for kind in kinds for side in "AB"]
    assert [bar.hatched for bar in bars] == [False, True] * 4
    assert len({bar.colour for bar in bars}) == 4
    for side, run in both.sides.items():
        with torch.inference_mode():
            _, cache = run.model.run_with_cache(run.tokens[None])
        position = both.positions(run)[1]
        parts = {
            "token embedding": [cache["embed"]],
            "position embedding": [cache["pos_embed"]],
            "attention": [cache["attn_out", layer] for layer in range(run.cfg.n_layers)],
            "MLP": [cache["mlp_out", layer] for layer in range(run.cfg.n_layers)],
        }
        for kind, written in parts.items():
            (bar,) = (bar for bar in bars if bar.name == f"{kind}, {side}")
            first = 0 if kind.endswith("embedding") else 1
            expected = np.full(len(LAYERS), np.nan)
            expected[first : first + len(written)] = [float(part[0, position].norm()) for part in written]
            np.testing.assert_allclose(bar.values, expected, rtol=1e-5)
        # Shares of float32, whose parts are added up in another order.
        own = [bar.values for bar in shares[0] if bar.name.endswith(f", {side}")]
        assert np.nansum(own) == pytest.approx(1, abs=1e-4)


def test_cosines_are_one_with_themselves_and_changes_have_their_sign(both: Shown, drawn: Drawn) -> None:
    page("residual", both)
    *_, (a, rest), (b, _), (change, of_change) = drawn["cell_map"]
    np.testing.assert_allclose(np.diag(a[0]), 1, atol=1e-5)
    assert (rest["ends"], a[1].labels, a[2].labels) == ((0, 1), LAYERS, LAYERS)
    np.testing.assert_array_equal(change[0], b[0] - a[0][:3, :3])
    assert of_change["scale"] == "signed"


def test_the_best_tokens_of_both_runs_share_their_scale(both: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(monkeypatch, lens_cell, "signed_bars", "line_chart")
    page("lens", both, position=1, layer=1, target=" two")
    (a, of_a), (b, of_b) = drawn["signed_bars"]
    assert of_a["reach"] == of_b["reach"] == max(bar.spans[0][1] for (bars,) in (a, b) for bar in bars)
    for (bars,) in (a, b):
        shares = [bar.spans[0][1] for bar in bars]
        assert shares == sorted(shares, reverse=True)
        assert [bar.text for bar in bars] == [f"{share:.2%}" for share in shares]
    ((lines, _), rest) = drawn["line_chart"][0]
    assert [(line.name, line.dashed, len(line.words)) for line in lines] == [("A", False, 4), ("B", True, 3)]
    assert np.isnan(lines[1].values).tolist() == [False, False, False, True]
    assert rest["percent"]


def test_every_heads_mean_is_told_with_its_deviation_and_count(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(monkeypatch, prompt_statistics, "cell_map")
    once = runs.HeadStatistics(1, run.scores)
    thrice = runs.HeadStatistics(1, {name: replace(of, values=3 * of.values) for name, of in run.scores.items()})

    def script(run: object, known: object) -> None:  # its text alone is run: no global names
        from app import selection
        from app.views import prompt_statistics

        if selection.shown() is None:
            selection.accept(selection.Selection(statistic="entropy"))
        prompt_statistics.draw(run, known)

    at = AppTest.from_function(script, args=(run, [once, thrice])).run()
    assert not at.exception
    ((mean, rows, heads), of_mean), ((sd, _, _), of_sd) = drawn["cell_map"]
    entropy = run.scores["entropy"].values.numpy()
    np.testing.assert_allclose(mean, 2 * entropy, rtol=1e-5)  # float32
    np.testing.assert_allclose(sd, np.sqrt(2) * entropy, rtol=1e-5)
    np.testing.assert_array_equal(of_mean["told"]["standard deviation"], sd)
    np.testing.assert_array_equal(of_sd["told"]["mean"], mean)
    assert (of_mean["told"]["prompts"] == 2).all()
    assert (rows.labels[2], heads.labels[4]) == ("L2", "H4")
