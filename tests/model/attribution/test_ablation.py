"""Interventions at a cell and a head, against whole passes with hooks."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer, run_prompt
from headlight.model.attribution import Cell, Question, Replacements, ablation_effects, resume
from headlight.model.measure.alignment import match_positions
from headlight.model.runs.edits import AblateHeads, CutEdge, Edit, Steer
from headlight.model.runs.head import attend
from headlight.model.runs.host import Host
from headlight.model.runs.run import Run

PROMPT_B = "one two four one two three one"
HEAD = (1, 2)
EDITS = (AblateHeads(((0, 1),), "mean"), CutEdge(HEAD, 7, 3), Steer(1, "one two", "four", 1.5))
LOGITS = 2e-5  # logits of size 1 from two passes of float32 whose sums are taken in another order


def _hooked(run: Run, name: str, edit: Callable[[Tensor], None], position: int) -> Tensor:
    """The logits at a position of a whole pass in which this is done."""

    with torch.inference_mode():
        return run.model.run_with_hooks(run.tokens[None], [(name, lambda x, hook: edit(x))])[0, position]


CELLS = [
    (Cell(1, 2, 7, 3), 7),
    (Cell(0, 1, 7, 7), 7),
    (Cell(2, 4, 4, 0), 7),
    (Cell(1, 0, 2, 1), 5),
    (Cell(2, 3, 0, 0), 4),
    (Cell(1, 2, 6, 3), 3),
]


@pytest.mark.parametrize(("cell", "position"), CELLS)
def test_interventions_are_what_hooks_make_of_a_whole_pass(run: Run, cell: Cell, position: int) -> None:
    question = Question(30, 50, position)
    effects = ablation_effects(run, cell, question)
    pattern, z = (f"blocks.{cell.layer}.attn.hook_{name}" for name in ("pattern", "z"))
    own = _hooked(run, pattern, lambda activation: None, position)

    def cut(activation: Tensor) -> None:
        activation[:, cell.head, cell.query, cell.key] = 0

    def rescaled(activation: Tensor) -> None:
        cut(activation)
        row = activation[:, cell.head, cell.query]
        row /= row.sum().clamp_min(1e-30)

    def nothing(activation: Tensor) -> None:
        activation[:, :, cell.head] = 0

    def mean(activation: Tensor) -> None:
        activation[:, :, cell.head] = activation[:, :, cell.head].mean(1, keepdim=True)

    for slot, (name, hook) in enumerate(((pattern, cut), (pattern, rescaled), (z, nothing), (z, mean))):
        logits = _hooked(run, name, hook, position)
        change = (logits - own)[[question.target, question.distractor]]
        assert float(effects.total.values[slot]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)
        p, q = (torch.distributions.Categorical(logits=each.double()) for each in (own, logits))
        kl = float(torch.distributions.kl_divergence(p, q))
        assert float(effects.kl.values[slot]) == pytest.approx(kl, abs=LOGITS)
        assert int(effects.top.values[slot]) == int(logits.argmax())


def test_nothing_before_a_cut_can_change(run: Run) -> None:
    effects = ablation_effects(run, Cell(1, 2, 6, 3), Question(30, 50, 3))
    assert effects.total.values[:2].tolist() == effects.kl.values[:2].tolist() == [0, 0]
    assert effects.direct.values[:2].tolist() == [0, 0]


def test_direct_effects_are_those_of_a_write_taken_out_at_the_runs_own_scale(run: Run) -> None:
    """The final stream without the write, normalised by hand with the scale that it had with it."""
    cell, position = Cell(2, 3, 7, 4), 7
    question = Question(30, 50, position)
    effects = ablation_effects(run, cell, question)
    *_, final = run.streams()
    stream, W_U = final[position].double(), run.model.unembed.W_U.double()
    scale, gain = (stream.var(unbiased=False) + run.cfg.eps).sqrt(), run.model.get_parameter("ln_final.w").double()
    pattern, v = attend(run, 2, 3).pattern[7].double(), run.cache["v", 2][:, 3].double()
    W_O = run.model.get_parameter("blocks.2.attn.W_O")[3].double()
    edge, head = pattern[4] * v[4] @ W_O, pattern @ v @ W_O

    def difference(vector: Tensor) -> float:
        logits = ((vector - vector.mean()) / scale * gain) @ W_U
        return float(logits[30] - logits[50])

    expected = difference(stream - edge) - difference(stream)
    assert float(effects.direct.values[0]) == pytest.approx(expected, abs=LOGITS)
    expected = difference(stream - head) - difference(stream)
    assert float(effects.direct.values[2]) == pytest.approx(expected, abs=LOGITS)


def _matched(run: Run, other: Run) -> Replacements:
    return Replacements(other, match_positions(run.tokens.tolist(), other.tokens.tolist()))


@pytest.mark.parametrize("text", [PROMPT_B, f"two {PROMPT_B} two", "one three one", "seven"])
def test_another_prompts_output_is_taken_where_positions_match(run: Run, small: Transformer, text: str) -> None:
    other = run_prompt(small, text)
    cell, question, replacements = Cell(1, 2, 7, 3), Question(30, 50, 7), _matched(run, other)
    effects = ablation_effects(run, cell, question, replacements)
    there = attend(other, 1, 2).pattern @ other.cache["v", 1][:, 2]

    def resampled(activation: Tensor) -> None:
        for here, position in replacements.matches:
            activation[0, here, 2] = there[position]

    own, logits = (_hooked(run, "blocks.1.attn.hook_z", hook, 7) for hook in (lambda activation: None, resampled))
    change = (logits - own)[[30, 50]]
    assert float(effects.total.values[4]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)


def test_a_run_resampled_from_itself_stays(run: Run) -> None:
    itself = ablation_effects(run, Cell(1, 2, 7, 3), Question(30, 50, 7), _matched(run, run))
    assert float(itself.total.values[4]) == pytest.approx(0, abs=LOGITS)
    assert len(ablation_effects(run, Cell(1, 2, 7, 3), Question(30, 50, 7), Replacements(run, ())).names) == 4


OVER = ("one two", "three", "four five one two three")


def test_a_mean_over_other_prompts_is_that_of_all_their_positions(run: Run, small: Transformer) -> None:
    question, cell = Question(30, 50, 7), Cell(1, 2, 7, 3)
    z = []
    for text in OVER:
        other = run_prompt(small, text)
        z.append(attend(other, 1, 2).pattern @ other.cache["v", 1][:, 2])
    mean = torch.cat(z).mean(0)

    def put(activation: Tensor) -> None:
        activation[:, :, 2] = mean

    own, logits = (_hooked(run, "blocks.1.attn.hook_z", hook, 7) for hook in (lambda activation: None, put))
    effects = ablation_effects(run, cell, question, Replacements(mean_over=OVER))
    change = (logits - own)[[30, 50]]
    assert float(effects.total.values[3]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)


def test_cutting_an_edge_of_a_run_with_edits_is_one_edit_more(small: Transformer) -> None:
    edited, once_more = (run_prompt(small, PROMPT_B, True, edits) for edits in (EDITS, (*EDITS, CutEdge((0, 3), 7, 2))))
    change = (once_more.next_logits - edited.next_logits)[[30, 50]]
    total = ablation_effects(edited, Cell(0, 3, 7, 2), Question(30, 50, 7)).total.values
    assert float(total[0]) == pytest.approx(float(change[0] - change[1]), abs=LOGITS)
    cut_already = ablation_effects(edited, Cell(*HEAD, 7, 3), Question(30, 50, 7)).total.values
    assert float(cut_already[0]) == pytest.approx(0, abs=LOGITS)


class _Listening(Host):
    """Notes how far it is told that a computation is."""

    def __init__(self) -> None:
        self.progress: list[tuple[int, int]] = []

    def tell(self, done: int, total: int) -> None:
        self.progress.append((done, total))


@pytest.mark.parametrize("edits", [(), EDITS])
@pytest.mark.parametrize("abreast", [1, 256])
def test_a_host_is_told_of_each_layer_of_each_intervention(
    small: Transformer, monkeypatch: pytest.MonkeyPatch, abreast: int, edits: tuple[Edit, ...]
) -> None:
    monkeypatch.setattr(resume, "MAX_ABREAST", abreast)
    host = _Listening()
    run = replace(run_prompt(small, "one two three one two three one", edits=edits), host=host)
    ablation_effects(run, Cell(1, 2, 7, 3), Question(30, 50, 7))
    n_layers = (small.cfg.n_layers - 1) * 4  # from the cell's on; two ways to cut the edge, two to replace the head
    assert host.progress[0] == (0, n_layers)
    assert host.progress[-1] == (n_layers, n_layers)
    assert host.progress == sorted(host.progress)
