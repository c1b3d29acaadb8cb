"""Bodies and models with another head than a language model's give what transformers' own classes give.

A tensor that a folder lacks is never made up.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedModel

from headlight.model import load
from headlight.model.base.errors import HeadlightError
from headlight.model.checkpoints.heads import named_class
from headlight.model.text.outputs import LabelNames
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.checkpoints.test_folders import edit_config
from tests.model.oracles import ATOL, RTOL

ENCODER = {
    "vocab_size": 23,
    "hidden_size": 20,
    "intermediate_size": 31,
    "num_hidden_layers": 2,
    "num_attention_heads": 5,
}
DISTIL = {"vocab_size": 23, "dim": 20, "hidden_dim": 31, "n_layers": 2, "n_heads": 5}
MODERN = ENCODER | dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2)
T5 = {"vocab_size": 23, "d_model": 20, "d_kv": 6, "d_ff": 31, "num_layers": 2, "num_heads": 5}
GPT2 = {"vocab_size": 23, "n_embd": 20, "n_layer": 2, "n_head": 5, "bos_token_id": 0, "eos_token_id": 0}
CONFIGS: dict[str, Callable[..., Any]] = {
    "Bert": lambda **more: transformers.BertConfig(**ENCODER, **more),
    "Roberta": lambda **more: transformers.RobertaConfig(**ENCODER, pad_token_id=1, **more),
    "DistilBert": lambda **more: transformers.DistilBertConfig(**DISTIL, **more),
    "Electra": lambda **more: transformers.ElectraConfig(**ENCODER, embedding_size=12, **more),
    "ModernBert": lambda **more: transformers.ModernBertConfig(**MODERN, **more),
    "Llama": lambda **more: transformers.LlamaConfig(**SIZES, pad_token_id=0, **more),
    "Qwen3": lambda **more: transformers.Qwen3Config(**SIZES, pad_token_id=0, **more),
    "GPT2": lambda **more: transformers.GPT2Config(**GPT2, pad_token_id=0, **more),
    "T5": lambda **more: transformers.T5Config(**T5, **more),
    "UMT5": lambda **more: transformers.UMT5Config(**T5, feed_forward_proj="gated-gelu", **more),
}
HEADS = ("Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
TOKENS = torch.tensor([[7, 3, 11, 5, 9, 4]])
NAMES = {0: "good", 1: "bad", 2: "odd"}
OTHERS = [  # each more of a kind than the rest
    ("ModernBert", "ForSequenceClassification", {"classifier_pooling": "mean"}),
    ("Electra", "ForPreTraining", {}),
    ("Bert", "ForSequenceClassification", {"num_labels": 1}),
    ("Bert", "ForNextSentencePrediction", {"num_labels": 2}),
    *(
        (kind, "ForMultipleChoice", {"num_labels": 1})
        for kind in ("Bert", "Roberta", "DistilBert", "Electra", "ModernBert")
    ),
    ("Llama", "ForSequenceClassification", {"num_labels": 1}),
    ("GPT2", "ForSequenceClassification", {"tie_word_embeddings": True}),
    ("T5", "EncoderModel", {"num_labels": 2}),
    ("T5", "ForTokenClassification", {}),
    ("UMT5", "EncoderModel", {"num_labels": 2}),
]


QUICK = {("Bert", head) for head in HEADS} | {("GPT2", HEADS[1]), ("Llama", HEADS[0]), ("Roberta", HEADS[1])}
CASES: list[Any] = [
    *(
        pytest.param(kind, head, {}, marks=() if (kind, head) in QUICK else pytest.mark.thorough)
        for kind in list(CONFIGS)[:8]
        for head in HEADS
    ),
    *OTHERS,
]


def built(kind: str, head: str, **settings: Any) -> PreTrainedModel:
    """A random model in which no parameter is left at zero or one."""
    torch.manual_seed(0)
    labels = (
        {"num_labels": 2}
        if head == "ForQuestionAnswering"
        else {"id2label": NAMES}
        if "num_labels" not in settings
        else {}
    )
    config = CONFIGS[kind](attn_implementation="eager", **labels, **settings)
    model = getattr(transformers, f"{kind}{head}")(config)
    for parameter in model.parameters():
        mean = float(parameter.detach().mean()) if parameter.ndim == 1 else 0.0
        torch.nn.init.normal_(parameter, mean, 0.3)
    return model.eval()


def outputs_of(model: PreTrainedModel, tokens: Tensor) -> Tensor:
    """transformers' outputs, as ours are [batch, pos, output]."""
    with torch.no_grad():
        outputs = model(tokens[None] if type(model).__name__.endswith("ForMultipleChoice") else tokens)
    if hasattr(outputs, "start_logits"):
        return torch.stack([outputs.start_logits, outputs.end_logits], -1)
    if not hasattr(outputs, "logits"):
        return outputs.last_hidden_state
    if isinstance(model, transformers.ElectraForPreTraining):
        return outputs.logits[..., None]
    return outputs.logits if outputs.logits.ndim == 3 else outputs.logits[:, None]


@pytest.mark.parametrize(("kind", "head", "settings"), CASES)
def test_outputs_are_those_of_transformers(kind: str, head: str, settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = built(kind, head, **settings)
    theirs.save_pretrained(tmp_path)
    ours, expected = load(tmp_path), outputs_of(theirs, TOKENS)
    logits, cache = ours.run_with_cache(TOKENS)
    if ours.cfg.output == "labels" and logits.shape[1] > 1:
        logits = logits[:, [0 if ours.cfg.output_position == "first" else -1]]
    torch.testing.assert_close(logits, expected, rtol=RTOL, atol=ATOL)
    if head == "ForSequenceClassification" and not settings.get("num_labels"):
        assert ours.outputs.labels(range(3)) == list(NAMES.values())
    if hasattr(theirs.base_model, "pooler") and theirs.base_model.pooler is not None:
        with torch.no_grad():
            pooled = theirs.base_model(TOKENS).pooler_output
        torch.testing.assert_close(cache["pooler.hook_post"][:, 0], pooled, rtol=RTOL, atol=ATOL)


def test_padding_changes_no_label(tmp_path: Path) -> None:
    """A mean is of real tokens, and a decoder's label is read at the last of them."""
    for kind, more in (("ModernBert", {"classifier_pooling": "mean"}), ("Llama", {})):
        theirs = built(kind, "ForSequenceClassification", **more)
        theirs.save_pretrained(tmp_path / kind)
        ours, pad = load(tmp_path / kind), theirs.config.pad_token_id
        padded, mask = torch.cat([TOKENS, torch.full((1, 3), pad)], 1), torch.tensor([[1] * 6 + [0] * 3])
        with torch.no_grad():
            expected = theirs(padded, attention_mask=mask).logits
        logits = ours(padded, mask)
        torch.testing.assert_close(logits[:, 0 if kind == "ModernBert" else 5], expected, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("prefix", ["", "pretrained_model."])
def test_a_value_head_stands_beside_the_language_model_s(prefix: str, tmp_path: Path) -> None:
    """trl's: a Linear on the last hidden state, which transformers gives behind the final norm."""
    theirs = built("Llama", "ForCausalLM", num_labels=2)
    theirs.save_pretrained(tmp_path)
    file, (W, b) = tmp_path / "model.safetensors", (torch.randn(1, SIZES["hidden_size"]), torch.randn(1))
    tensors = {f"{prefix}{name}": tensor for name, tensor in load_file(file).items()}
    save_file(tensors | {"v_head.summary.weight": W, "v_head.summary.bias": b}, file)
    with torch.no_grad():
        outputs = theirs(TOKENS, output_hidden_states=True)
    logits, cache = load(tmp_path).run_with_cache(TOKENS)
    torch.testing.assert_close(logits, outputs.logits, rtol=RTOL, atol=ATOL)
    values = outputs.hidden_states[-1] @ W.T + b
    torch.testing.assert_close(cache["value_head.hook_value"], values, rtol=RTOL, atol=ATOL)


def drop_class(folder: Path) -> None:
    """Take the class out of a folder's config.json."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({name: config[name] for name in config if name != "architectures"}))


def test_without_its_class_a_head_is_told_by_its_tensors(tmp_path: Path) -> None:
    for kind, head, output in (
        ("Llama", "ForSequenceClassification", "labels"),
        ("Llama", "Model", "none"),
        ("Bert", "ForSequenceClassification", "labels"),
        ("Bert", "ForTokenClassification", "token labels"),
        ("Bert", "Model", "none"),
        ("Bert", "ForMaskedLM", "tokens"),
        ("Bert", "ForPreTraining", "tokens"),
        ("Bert", "ForNextSentencePrediction", "labels"),
        ("GPT2", "LMHeadModel", "tokens"),
        ("T5", "EncoderModel", "none"),
        ("T5", "ForTokenClassification", "token labels"),
    ):
        built(kind, head, num_labels=2).save_pretrained(tmp_path / f"{kind}{head}")
        drop_class(tmp_path / f"{kind}{head}")
        assert load(tmp_path / f"{kind}{head}").cfg.output == output


@pytest.mark.parametrize(("kind", "head"), [("Bert", "ForMaskedLM"), ("Bert", "Model"), ("GPT2", "LMHeadModel")])
def test_a_class_of_ones_own_opens_without_the_heads_that_nothing_reads(kind: str, head: str, tmp_path: Path) -> None:
    """What is unknown within its body is refused: it may change what is computed."""
    theirs = built(kind, head, num_labels=2)
    theirs.save_pretrained(tmp_path)
    file, called = tmp_path / "model.safetensors", "GPT2DoubleHeadsModel" if kind == "GPT2" else "AntiBERTy"
    prefix = f"{theirs.base_model_prefix}." if head == "Model" else ""
    own = {"heads.chain.weight": torch.ones(2, 20), "heads.chain.bias": torch.ones(2), "species": torch.ones(3)}
    tensors = {f"{prefix}{name}": tensor for name, tensor in load_file(file).items()}
    save_file(tensors | own, file)
    edit_config(tmp_path, architectures=[called])
    ours = load(tmp_path)
    torch.testing.assert_close(ours(TOKENS), outputs_of(theirs, TOKENS), rtol=RTOL, atol=ATOL)
    assert ours.source is not None
    assert ours.source.note == f"of class {called}, whose heads heads.chain, species are not read"
    within = f"{theirs.base_model_prefix}.{'h.0' if kind == 'GPT2' else 'encoder.layer.0'}.adapter.weight"
    save_file(tensors | own | {within: torch.ones(2)}, file)
    with pytest.raises(HeadlightError, match=r"has unexpected tensors .*\.adapter\.weight"):
        load(tmp_path)


def test_a_class_in_the_folders_own_code_is_refused(tmp_path: Path) -> None:
    built("Bert", "Model").save_pretrained(tmp_path)
    edit_config(tmp_path, architectures=["AntiBERTy"], auto_map={"AutoModel": "modeling.AntiBERTy"})
    with pytest.raises(HeadlightError, match=r"is a AntiBERTy, a class in the folder's own code \(auto_map\), "):
        load(tmp_path)


@pytest.mark.parametrize("head", ["ForCausalLM", "ForSequenceClassification"])
def test_what_a_head_lacks_is_never_made_up(head: str, tmp_path: Path) -> None:
    built("Llama", head).save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    del tensors["model.norm.weight" if head == "ForSequenceClassification" else "lm_head.weight"]
    save_file(tensors, file)
    with pytest.raises(HeadlightError, match=r"lacks the tensors (lm_head\.weight|norm\.weight)"):
        load(tmp_path)
    save_file({name: tensor for name, tensor in tensors.items() if not name.startswith("score.")}, file)
    with pytest.raises(HeadlightError, match=r"(holds no head of one|lacks the tensors)"):
        load(tmp_path)


def test_names_of_labels_are_visible_and_distinct(tmp_path: Path) -> None:
    LlamaForSequenceClassification(CONFIGS["Llama"](num_labels=4)).save_pretrained(tmp_path)
    config = tmp_path / "config.json"
    named = {"0": "one two", "1": "one two", "2": "\u202e", "7": "of no row"}
    config.write_text(json.dumps(json.loads(config.read_text()) | {"id2label": named}))
    outputs = load(tmp_path).outputs
    assert outputs.labels(range(4)) == ["one two (0)", "one two (1)", "<U+202E>", "LABEL_3"]
    assert outputs.to_single_token("LABEL_3") == 3
    with pytest.raises(HeadlightError, match=r"has no label 'LABEL_4'.*Its labels are one two"):
        outputs.to_single_token("LABEL_4")
    assert "and 30 more" in str(_refusal(LabelNames([f"label {number}" for number in range(50)])))


def _refusal(names: LabelNames) -> Exception:
    with pytest.raises(HeadlightError) as refusal:
        names.to_single_token("x")
    return refusal.value


def test_a_body_is_saved_by_a_language_model_s_own_class_too(tmp_path: Path) -> None:
    """A body's class in config.json beside a stored head: the head counts, for it is there."""
    theirs = LlamaForCausalLM(deepcopy(CONFIGS["Llama"]())).eval()
    theirs.save_pretrained(tmp_path)
    edit_config(tmp_path, architectures=["LlamaModel"])
    torch.testing.assert_close(load(tmp_path)(TOKENS), outputs_of(theirs, TOKENS), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("classes", [[None], [5], [["GPT2LMHeadModel"]], [], None, "GPT2LMHeadModel"])
def test_a_class_that_is_no_text_is_none(classes: object) -> None:
    """One called None would be somebody's own class, and a model with tied embeddings would lose its head."""
    assert named_class({"architectures": classes}) == ""
