"""Heads found a sequence at a time: seeded, within the model's limits, and with what their ablation changes."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from headlight.app.pages.heads import ranking as heads
from headlight.app.pages.heads.subjects import Subject
from headlight.app.parts import detection
from headlight.app.parts.detection import Input, Repeats, sequence_of
from headlight.app.runs import jobs, models, runs
from headlight.app.selection import Selection
from headlight.model import Tokenizer, Transformer, load
from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.base.source import Source
from headlight.model.roles import fitting_repeat_length
from headlight.recipes.repeat_scores import repeat_scores
from headlight.recipes.teaching_weights import BOS, INDUCTION_HEADS, induction_circuit


@pytest.fixture
def taught(settings: dict[str, object], folder: str, monkeypatch: pytest.MonkeyPatch) -> Transformer:
    """The circuit written by hand, opened under a name, with a vocabulary of words."""
    model = induction_circuit(d_vocab=40, n_ctx=60)
    model.tokenizer = Words(40)
    model.source = replace(_source(folder), name="taught")
    monkeypatch.setattr(models, "open_model", lambda name: model)
    return model


def _source(folder: str) -> Source:
    source = load(folder).source
    assert source is not None
    return source


class Words(Tokenizer):
    """Token ids that are their own names; 0 begins a sequence."""

    def __init__(self, n_words: int) -> None:
        self.bos_token_id, self._n = BOS, n_words

    def word_ids(self) -> list[int]:
        return list(range(1, self._n))

    def to_string(self, tokens: object) -> str:
        return f"w{tokens}"


def ranking_of(model_name: str, bos: bool = True, every: bool = True) -> heads.HeadRanking:
    """What the page would show after looking and ablating."""
    sequences = detection.repeats(model_name, bos, Repeats())
    for fed in sequences:
        detection.look(fed)
    model = models.open_model(model_name)
    cfg = model.cfg
    ablated = [(layer, head) for layer in range(cfg.n_layers) for head in range(cfg.n_heads)] if every else []
    for job in detection.ablation_jobs(sequences, ablated):
        detection.ablate(job)
    run: Any = SimpleNamespace(model=model, cfg=cfg, source=model.source, bos=bos)
    ranking = heads.find(Subject(run, (), sequences, sequences), Selection(model=model_name))
    assert ranking is not None
    return ranking


def test_the_circuit_written_by_hand_is_found_and_what_writes_nothing_is_doubted(taught: Transformer) -> None:
    ranking = ranking_of("taught")
    assert ranking.labels[1, 0][0] == ranking.labels[1, 1][0] == "induction"
    assert ranking.doubted == [(1, 1)]  # it has the pattern of the other and writes nothing
    assert {head for head, kinds in ranking.labels.items() if "previous_token" in kinds} == {(0, 0)}
    assert ranking.verdict((0, 0), "previous_token") == "supported"
    labels = detection.supported_labels("taught", True, Repeats())
    assert "induction" in labels[1, 0]
    assert "induction" not in labels[1, 1]
    for head, does in INDUCTION_HEADS.items():
        changes = [abs(float(each.mean.values)) for each in ranking.effects[head].values()]
        # What writes nothing can only change the order of sums.
        assert max(changes) < 1e-5 if does.endswith("nothing") else min(changes) > 1


def test_without_the_head_that_copies_nothing_is_known_of_the_second_copy(taught: Transformer) -> None:
    sequences = detection.repeats("taught", True, Repeats())
    for job in detection.ablation_jobs(sequences, [(1, 0)]):
        detection.ablate(job)
    effect = detection.effects(sequences, (1, 0))["zero"]
    # All logits are then 0, so that the loss is log 40; before, the right one of 40 has 20 and the others 0.
    untouched = torch.tensor([20.0] + [0.0] * 39).log_softmax(0)[0].neg()
    torch.testing.assert_close(effect.mean.values, torch.tensor(40.0).log() - untouched, atol=1e-4, rtol=0)


def test_minis_heads_are_those_of_its_card(settings: dict[str, object]) -> None:
    ranking = ranking_of("mini")
    assert {head for head, kinds in ranking.labels.items() if "induction" in kinds} == {(1, 0), (1, 1)}
    assert ranking.doubted == []
    assert ranking.order()[:2] == sorted([(1, 0), (1, 1)], key=lambda head: -ranking.values[head])
    best = ranking.scores["previous_token"].mean.values.argmax()
    assert "previous_token" in ranking.labels[divmod(int(best), 4)]


def test_scores_are_those_that_the_model_was_measured_by(settings: dict[str, object]) -> None:
    """Without a beginning-of-sequence token the sequences are those halves that the card's scores are taken on."""
    ranking = ranking_of("mini", bos=False, every=False)
    sequences = detection.repeats("mini", False, Repeats())
    rows = torch.stack([sequence_of(fed).tokens for fed in sequences])
    theirs = repeat_scores(load("mini"), rows)
    # Float32 sums over another order of rows and queries.
    torch.testing.assert_close(ranking.scores["induction"].mean.values, theirs.induction, atol=1e-5, rtol=0)
    torch.testing.assert_close(ranking.scores["previous_token"].mean.values, theirs.previous_token, atol=1e-5, rtol=0)


def test_repeats_are_seeded_and_hold_no_special_token(settings: dict[str, object], folder: str) -> None:
    first, again = (sequence_of(Input(folder, True, seed=1, number=2)).tokens for _ in range(2))
    other = sequence_of(Input(folder, True, seed=2, number=2)).tokens
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(first[1:26], first[26:])
    tokenizer = load(folder).tokenizer
    assert tokenizer is not None
    assert first[0] == tokenizer.bos_token_id
    assert len(set(first[1:26].tolist())) == 25
    assert tokenizer.bos_token_id not in first[1:]
    assert tokenizer.bos_token_id not in tokenizer.word_ids()
    assert len(tokenizer.word_ids()) == tokenizer.n_words


def test_a_short_context_is_filled_and_one_that_is_too_short_refused(
    settings: dict[str, object], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(folder)
    monkeypatch.setattr(models, "open_model", lambda name: model)
    model.cfg = replace(model.cfg, n_ctx=20)
    assert fitting_repeat_length(model, True, 25, runs.HOST) == 9
    assert len(sequence_of(Input("short", True)).tokens) == 19
    model.cfg = replace(model.cfg, n_ctx=8)
    assert fitting_repeat_length(model, True, 25, runs.HOST) == 0
    with pytest.raises(InputError, match="Look at your own prompts instead"):
        detection.look(Input("short", True))


def test_a_prompt_that_cannot_be_run_is_refused_as_everywhere(settings: dict[str, object], folder: str) -> None:
    with pytest.raises(InputError, match="context holds 100"):
        detection.look(Input(folder, True, "long " * 200))


def test_jobs_go_on_past_what_is_refused_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0)
    done: list[int] = []

    def do(number: int) -> None:
        if number == 2:
            raise HeadlightError("not two")
        done.append(number)

    work = jobs.Jobs()
    work.start([1, 2, 2, 3, 4])
    assert work.total == 4
    for _ in range(3):
        work.step(do)
    assert done == [1, 3]
    assert work.refused == {2: "not two"}
    work.stop()
    work.step(do)
    assert (done, work.waiting, work.stopped) == ([1, 3], (), True)
    work.start([2, 4])
    assert (work.waiting, work.stopped) == ((4,), False)


def test_heads_are_ablated_side_by_side_as_one_by_one(settings: dict[str, object], folder: str) -> None:
    (fed, *_) = detection.repeats(folder, True, Repeats())
    every = [(layer, head) for layer in range(3) for head in range(5)]
    together = detection.ablation_jobs([fed], every)
    assert [len(job.heads) for job in together] == [8, 7]
    for job in together:
        detection.ablate(job)
    losses = {head: runs.kept(("losses", fed, head)) for head in every}
    assert not detection.ablation_jobs([fed], every)
    repeat = sequence_of(fed)
    model, tokens, start = repeat.model, repeat.tokens, repeat.start
    half = (len(tokens) - start) // 2

    def zero(z: torch.Tensor, hook: object) -> None:
        z[:, :, 3] = 0

    logits = model.run_with_hooks(tokens[None], [("blocks.1.attn.hook_z", zero)])[0, start + half : -1]
    expected = torch.nn.functional.cross_entropy(logits, tokens[start + half + 1 :])
    # Float32 in a batch of another size.
    assert losses[1, 3].ablated["zero"] == pytest.approx(float(expected), abs=1e-5)


def test_copying_counts_both_layer_norms(settings: dict[str, object], folder: str) -> None:
    copying = detection.copying(folder).values
    model = load(folder)
    centring = torch.eye(40).double() - 1 / 40
    W_E, W_U = model.embed.W_E.double(), model.unembed.W_U.double()
    attn = model.blocks[2].get_submodule("attn")
    W_V, W_O = (attn.get_parameter(name)[4].double() for name in ("W_V", "W_O"))
    before = centring @ model.get_parameter("blocks.2.ln1.w").double().diag()
    after = centring @ model.get_parameter("ln_final.w").double().diag()
    values = torch.linalg.eigvals(W_O @ after @ W_U @ W_E @ before @ W_V)
    # W_U W_E is summed in float32.
    assert float(copying[2, 4]) == pytest.approx(float(values.real.sum() / values.abs().sum()), abs=1e-4)


def test_nothing_is_known_before_somebody_has_asked(settings: dict[str, object], folder: str) -> None:
    assert detection.supported_labels(folder, True, Repeats()) == {}
    assert detection.detected(detection.repeats(folder, True, Repeats())) is None


def test_a_folder_of_the_user_is_looked_at_as_well(settings: dict[str, object], folder: str) -> None:
    ranking = ranking_of(folder)
    assert ranking.n_ranked == 15
    assert sorted(ranking.ranks.flatten().tolist()) == list(range(1, 16))
    assert Path(folder).is_dir()
