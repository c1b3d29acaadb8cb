"""What adapters hold besides plain halves: embeddings, new tokens, whole modules, DoRA's lengths, biases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertForTokenClassification,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedModel,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
)

from headlight.model import load, load_seq2seq
from headlight.model.base.errors import CheckpointError
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.checkpoints.test_lora import RANK, SCALE, Q, add, assert_opens_as, halves, write
from tests.model.checkpoints.twins import TOLERANCE, difference
from tests.model.oracles import random_gpt2, random_tokens

BEFORE, EMBED = "base_model.model.", "model.embed_tokens"
V, D = SIZES["vocab_size"], SIZES["hidden_size"]


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., PreTrainedModel]:
    def make(model: PreTrainedModel) -> PreTrainedModel:
        torch.manual_seed(0)
        for parameter in model.parameters():
            parameter.data += 0.3 * torch.randn(parameter.shape)
        model.eval().save_pretrained(tmp_path / "base")
        return model

    return make


def llama(**settings: Any) -> LlamaForCausalLM:
    return LlamaForCausalLM(LlamaConfig(**SIZES, attn_implementation="eager", **settings))


def apart(model: PreTrainedModel) -> PreTrainedModel:
    """The same with an unembedding of its own: peft adds to one of two tied modules what it adds to it alone."""
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    return model


def embedding_halves() -> dict[str, Tensor]:
    matrices = {"A": torch.randn(RANK, V), "B": torch.randn(D, RANK)}
    return {f"{BEFORE}{EMBED}.lora_embedding_{half}": tensor for half, tensor in matrices.items()}


@pytest.mark.parametrize("tied", [True, False])
def test_an_embedding_is_added_to_and_the_unembedding_stays(
    tied: bool, saved: Callable[..., PreTrainedModel], tmp_path: Path
) -> None:
    theirs = apart(saved(llama(tie_word_embeddings=tied)))
    added = embedding_halves()
    into, out = added.values()
    weight = theirs.get_input_embeddings().weight
    copy = {f"{BEFORE}{EMBED}.base_layer.weight": weight.detach().clone()}  # which peft saves beside
    weight.data += SCALE * torch.einsum("rv,dr->vd", into, out)
    assert_opens_as(write(tmp_path / "adapter", added | copy, target_modules=["embed_tokens"]), theirs)


@pytest.mark.parametrize("tied", [True, False])
def test_an_unembedding_is_added_to_and_the_embedding_stays(
    tied: bool, saved: Callable[..., PreTrainedModel], tmp_path: Path
) -> None:
    theirs = apart(saved(llama(tie_word_embeddings=tied)))
    added = halves(theirs, ["lm_head"])
    add(theirs, added, SCALE)
    assert_opens_as(write(tmp_path / "adapter", added), theirs)


def test_gpt2s_unembedding_is_not_the_other_way_round(tmp_path: Path) -> None:
    theirs = random_gpt2(vocab_size=12)  # as wide as the stream, so that no shape tells
    theirs.save_pretrained(tmp_path / "base")
    added = halves(apart(theirs), ["lm_head"])
    add(theirs, added, SCALE)
    model, tokens = load(write(tmp_path / "adapter", added)), random_tokens(d_vocab=12)
    with torch.no_grad():
        assert difference(model(tokens), theirs(tokens).logits) <= TOLERANCE


@pytest.mark.parametrize("module", [EMBED, "lm_head"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_module_that_was_trained_whole_leaves_the_one_that_it_was_tied_to(
    tied: bool, module: str, saved: Callable[..., PreTrainedModel], tmp_path: Path
) -> None:
    theirs = apart(saved(llama(tie_word_embeddings=tied)))
    weight = torch.randn(V, D)
    theirs.get_submodule(module).weight.data = weight
    config = {"modules_to_save": [module.rpartition(".")[2]]}
    assert_opens_as(write(tmp_path / "adapter", {f"{BEFORE}{module}.weight": weight}, **config), theirs)


@pytest.mark.parametrize("tied", [True, False])
def test_new_tokens_are_opened(tied: bool, saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    theirs = saved(llama(tie_word_embeddings=tied))
    theirs.resize_token_embeddings(V + 4, mean_resizing=False)
    both = {EMBED: theirs.get_input_embeddings().weight, "lm_head": theirs.lm_head.weight}
    adapter = {f"{BEFORE}{name}.weight": weight.detach().clone() for name, weight in both.items()}
    folder = write(tmp_path / "adapter", adapter)
    assert_opens_as(folder, theirs)
    assert load(folder).cfg.d_vocab == V + 4


@pytest.mark.parametrize("tied", [True, False])
def test_single_tokens_rows_are_replaced(tied: bool, saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    theirs, at = saved(llama(tie_word_embeddings=tied)), [3, 11]
    rows = torch.randn(2, D)
    theirs.get_input_embeddings().weight.data[at] = rows  # and thereby the unembedding's, if it is that
    name = f"{BEFORE}{EMBED}.token_adapter.trainable_tokens_delta"
    assert_opens_as(write(tmp_path / "adapter", {name: rows}, trainable_token_indices=at), theirs)


def test_halves_are_added_to_what_single_tokens_rows_replaced(
    saved: Callable[..., PreTrainedModel], tmp_path: Path
) -> None:
    """peft puts the unembedding's halves around the rows that it has from the embedding."""
    theirs, at, rows = saved(llama(tie_word_embeddings=True)), [3, 11], torch.randn(2, D)
    theirs.get_input_embeddings().weight.data[at] = rows
    theirs = apart(theirs)
    added = halves(theirs, ["lm_head"])
    add(theirs, added, SCALE)
    adapter = added | {f"{BEFORE}{EMBED}.token_adapter.trainable_tokens_delta": rows}
    assert_opens_as(write(tmp_path / "adapter", adapter, trainable_token_indices=at), theirs)


def test_rows_of_tied_modules_may_be_of_different_tokens(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    theirs, at = apart(saved(llama(tie_word_embeddings=True))), {"embed_tokens": [3, 11], "lm_head": [5]}
    adapter = {}
    for name, module in ((EMBED, theirs.get_input_embeddings()), ("lm_head", theirs.lm_head)):
        rows = torch.randn(len(at[name.rpartition(".")[2]]), D)
        module.weight.data[at[name.rpartition(".")[2]]] = rows
        adapter[f"{BEFORE}{name}.token_adapter.trainable_tokens_delta"] = rows
    assert_opens_as(write(tmp_path / "adapter", adapter, trainable_token_indices=at), theirs)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_dora_gives_each_output_a_length(kind: str, saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    is_llama = kind == "llama"
    theirs = saved(llama() if is_llama else random_gpt2())
    module = Q if is_llama else "transformer.h.1.attn.c_attn"
    adapter = halves(theirs, [module], turned=not is_llama)
    add(theirs, adapter, SCALE, turned=not is_llama)
    weight = theirs.get_submodule(module).weight.data
    lengths = torch.rand(adapter[f"{BEFORE}{module}.lora_B.weight"].shape[0]) + 0.5
    for output in range(len(lengths)):
        column = weight[output] if is_llama else weight[:, output]
        column *= lengths[output] / column.norm()
    adapter[f"{BEFORE}{module}.lora_magnitude_vector"] = lengths
    assert_opens_as(write(tmp_path / "adapter", adapter, use_dora=True), theirs)


def test_a_half_may_have_a_bias(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    theirs, tensors = saved(llama(attention_bias=True)), halves(llama(), [Q])
    bias = torch.randn(SIZES["num_attention_heads"] * SIZES["head_dim"])
    add(theirs, tensors, SCALE)
    theirs.get_submodule(Q).bias.data += SCALE * bias
    tensors[f"{BEFORE}{Q}.lora_B.bias"] = bias
    assert_opens_as(write(tmp_path / "adapter", tensors, lora_bias=True), theirs)
    with pytest.raises(CheckpointError, match=r"lora_bias of .*q_proj, which is not known"):
        load(write(tmp_path / "untold", tensors))


def test_biases_that_were_trained_are_put_in_place(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    theirs, key = saved(llama(attention_bias=True)), Q.replace("q_proj", "k_proj")
    biases = {name: torch.randn(theirs.get_submodule(name).bias.shape) for name in (Q, key)}
    for name, bias in biases.items():
        theirs.get_submodule(name).bias.data = bias
    adapter = {f"{BEFORE}{Q}.base_layer.bias": biases[Q], f"{BEFORE}{key}.bias": biases[key]}
    assert_opens_as(write(tmp_path / "adapter", adapter, bias="all"), theirs)


def test_an_encoders_adapter_is_merged(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    sizes = {"vocab_size": V, "hidden_size": D, "intermediate_size": 31, "num_attention_heads": 5}
    theirs = saved(BertForMaskedLM(BertConfig(**sizes, num_hidden_layers=2, attn_implementation="eager")))
    adapter = halves(theirs, ["bert.encoder.layer.1.attention.self.query", "cls.predictions.transform.dense"])
    add(theirs, adapter, SCALE)
    assert_opens_as(write(tmp_path / "adapter", adapter, task_type=None), theirs)


def test_an_encoder_decoders_adapter_is_merged(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    sizes = {"vocab_size": V, "d_model": D, "d_kv": 4, "d_ff": 31, "num_layers": 1, "num_heads": 5}
    theirs = saved(T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0)))
    adapter = halves(theirs, ["decoder.block.0.layer.1.EncDecAttention.v", "lm_head"])
    model = load_seq2seq(write(tmp_path / "adapter", adapter, task_type="SEQ_2_SEQ_LM"))
    add(apart(theirs), adapter, SCALE)
    source, target = random_tokens(d_vocab=V), random_tokens(n_pos=5, seed=1, d_vocab=V)
    with torch.no_grad():
        expected = theirs(input_ids=source, decoder_input_ids=target).logits
        assert difference(model(source, target), expected) <= TOLERANCE
    shared = {name.replace(EMBED, "shared"): tensor for name, tensor in embedding_halves().items()}
    with pytest.raises(CheckpointError, match="changes shared alone, whose matrix other modules read as well"):
        load_seq2seq(write(tmp_path / "shared", shared))


def test_what_the_settings_leave_out_is_refused(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    adapter = halves(saved(llama()), [Q])
    with pytest.raises(CheckpointError, match=r"q_proj, which adapter_config\.json leaves out of what was trained"):
        load(write(tmp_path / "adapter", adapter, target_modules=["q_proj"], layers_to_transform=[0]))


def test_what_peft_would_not_train_unnamed_is_refused(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    """Of what no setting names peft adds Llama's queries and values, and among linear layers is no embedding."""
    theirs = saved(llama())
    others = {
        "down": (None, halves(theirs, [Q, Q.replace("self_attn.q_proj", "mlp.down_proj")])),
        "lm_head": ("all-linear", halves(theirs, ["lm_head"])),
        "embed_tokens": ("all-linear", embedding_halves()),
    }
    for module, (targets, adapter) in others.items():
        with pytest.raises(CheckpointError, match=rf"{module}\S*, which adapter_config\.json leaves out"):
            load(write(tmp_path / module, adapter, target_modules=targets))
    added = halves(theirs, [Q])
    add(theirs, added, SCALE)
    for targets in (None, "all-linear"):
        assert_opens_as(write(tmp_path / str(targets), added, target_modules=targets), theirs)


@pytest.mark.parametrize("wrapper", ["", "modules_to_save.", "modules_to_save.default."])
@pytest.mark.parametrize(
    ("classes", "task", "query"),
    [
        ((LlamaForCausalLM, LlamaForSequenceClassification), "SEQ_CLS", Q),
        ((BertForMaskedLM, BertForTokenClassification), "TOKEN_CLS", "bert.encoder.layer.1.attention.self.query"),
        ((BertForPreTraining, BertForSequenceClassification), "SEQ_CLS", "bert.encoder.layer.1.attention.self.query"),
        ((RobertaForMaskedLM, RobertaForSequenceClassification), None, "roberta.encoder.layer.1.attention.self.query"),
    ],
    ids=lambda value: value[1].__name__ if isinstance(value, tuple) else "",
)
def test_the_head_that_was_trained_with_it_stands_on_its_base(
    classes: tuple[Any, Any], task: str | None, query: str, wrapper: str, tmp_path: Path
) -> None:
    """A language model's head makes room for it, whether the adapter says its task or its class."""
    torch.manual_seed(0)
    language_model, classifier = classes
    sizes = SIZES | ({"num_hidden_layers": 2, "pad_token_id": 1} if language_model is not LlamaForCausalLM else {})
    config = classifier.config_class(**sizes, num_labels=3, attn_implementation="eager")
    theirs, base = classifier(config).eval(), language_model(config)
    for parameter in theirs.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape)
    base.base_model.load_state_dict(theirs.base_model.state_dict(), strict=False)
    base.save_pretrained(tmp_path / "base")
    of_body, head = halves(theirs, [query]), dict[str, Tensor]()
    for name, tensor in theirs.state_dict().items():
        if name.startswith(("score.", "classifier.")):
            module, _, kind = name.rpartition(".") if "out_proj" not in name else name.partition(".")
            head[f"{BEFORE}{module}.{wrapper}{kind}"] = tensor.clone()
    add(theirs, of_body, SCALE)
    settings = {"modules_to_save": ["classifier", "score"], "auto_mapping": {"base_model_class": classifier.__name__}}
    ours = load(write(tmp_path / "adapter", of_body | head, task_type=task, **settings))
    tokens = random_tokens()[:1]
    outputs = ours(tokens)
    at = {"first": [0], "last": [-1], "each": slice(None)}[ours.cfg.output_position]
    with torch.no_grad():
        expected = theirs(tokens).logits
    assert difference(outputs[:, at], expected if expected.ndim == 3 else expected[:, None]) <= TOLERANCE


def test_an_adapter_that_was_pickled_is_read(saved: Callable[..., PreTrainedModel], tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", halves(saved(llama()), [Q]))
    tokens = torch.arange(5)[None]
    expected, weights = load(folder)(tokens), folder / "adapter_model.safetensors"
    torch.save(load_file(weights), folder / "adapter_model.bin")
    weights.unlink()
    assert torch.equal(load(folder)(tokens), expected)  # the same numbers by the same sums


def test_a_head_for_another_task_and_other_files_are_called_what_they_are(
    saved: Callable[..., PreTrainedModel], tmp_path: Path
) -> None:
    adapter = halves(saved(llama()), [Q])
    head = {f"{BEFORE}v_head.summary.weight": torch.randn(1, D)}
    with pytest.raises(CheckpointError, match=r"holds v_head\.summary\.weight: it was trained with another head"):
        load(write(tmp_path / "value", adapter | head))
    with pytest.raises(
        CheckpointError, match=r"the LoRA of a model ForSequenceClassification, and holds no head of one"
    ):
        load(write(tmp_path / "headless", adapter, task_type="SEQ_CLS"))
    with pytest.raises(
        CheckpointError, match=r"with the head score\.weight, .*Set task_type there to SEQ_CLS, TOKEN_CL"
    ):
        load(write(tmp_path / "unnamed", adapter | {f"{BEFORE}score.weight": torch.randn(2, D)}))
    folder = write(tmp_path / "old", adapter)
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.npz")
    with pytest.raises(CheckpointError, match=r"holds adapter_model\.npz; what is read is adapter_model\.safe"):
        load(folder)
