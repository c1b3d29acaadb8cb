"""config.json against transformers: the keys that a pass goes by, those that have no share in it, and those refused.

Whatever config.json says, what opens has transformers' own logits, and everything else ends in a plain message.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, MarianConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from headlight.model import load, load_seq2seq
from headlight.model.base.errors import ConfigError, HeadlightError
from headlight.model.checkpoints import families
from headlight.model.checkpoints.families import SEQ2SEQ_FAMILIES
from headlight.model.checkpoints.keys import EVERYWHERE, UNUSED, Keys
from tests.model.checkpoints import architectures, seq2seq_twins
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.twins import TOLERANCE, difference, noisy, tokens_of

CASES = dict(architectures.every())
FIRST: dict[str, str] = {}  # each architecture's first case, but where that is a part of a config
for each, first in CASES.items():
    if not hasattr(first.config, "text_config"):
        FIRST.setdefault(each.partition(":")[0], each)
MARIAN = MarianConfig(**seq2seq_twins.BART, decoder_start_token_id=1, pad_token_id=1, bos_token_id=0, eos_token_id=0)
SEQ2SEQ = seq2seq_twins.CONFIGS | {"marian: tied": MARIAN}
SEQ2SEQ_CASE = {name: f"{name}: tied" for name in SEQ2SEQ_FAMILIES if name != "headlight_seq2seq"}
TYPES = {
    "deberta_v2": "deberta-v2",
    "gemma3": "gemma3_text",
    "openai_gpt": "openai-gpt",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "xlm_roberta": "xlm-roberta",
}

Folders = dict[str, Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The folders that were saved so far, by the names of their cases."""
    return {"": tmp_path_factory.mktemp("saved")}


def folder_of(name: str, made: Folders) -> Path:
    """A case's folder, with all that its config says written out in config.json."""
    if name not in made:
        made[name] = made[""] / str(len(made))
        model = seq2seq_twins.noisy(SEQ2SEQ[name]) if is_seq2seq(name) else noisy(CASES[name])
        model.save_pretrained(made[name])
        (made[name] / "whole.json").write_text(json.dumps(model.config.to_dict()))
    return made[name]


def is_seq2seq(name: str) -> bool:
    return name in SEQ2SEQ


def whole(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((folder / "whole.json").read_text())
    return config


def put(folder: Path, config: Mapping[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config))


@torch.no_grad()
def ours(name: str, folder: Path) -> Tensor:
    if is_seq2seq(name):
        return load_seq2seq(folder)(seq2seq_twins.drawn(2, 14, 1), seq2seq_twins.drawn(2, 12, 2))
    return load(folder)(tokens_of(CASES[name]))


@torch.no_grad()
def theirs(name: str, folder: Path) -> Tensor:
    """transformers' logits.

    Raises:
        ValueError: it made parameters of its own, for the file has not those that the config asks for.
    """
    case = Case(SEQ2SEQ[name], AutoModelForSeq2SeqLM) if is_seq2seq(name) else CASES[name]
    how = {"attn_implementation": "eager", "output_loading_info": True, "return_dict": True}
    if not is_seq2seq(name):
        how["experts_implementation"] = "eager"
    model, info = case.model.from_pretrained(folder, **how)
    if info["missing_keys"] or info["mismatched_keys"]:
        raise ValueError(info)
    architectures.repair(model)
    if is_seq2seq(name):
        source, target = seq2seq_twins.drawn(2, 14, 1), seq2seq_twins.drawn(2, 12, 2)
        logits: Tensor = model(source, decoder_input_ids=target).logits
    else:
        logits = model(tokens_of(case)).logits
    return logits


def assert_same_or_refused(name: str, folder: Path, said: str) -> None:
    """What opens has transformers' logits, and nothing but a refusal in words is raised.

    Where transformers refuses, as it does a padding token beyond the vocabulary, the key has no share in the pass: what
    opens all the same has the logits of the config as it was.
    """
    try:
        logits = ours(name, folder)
    except HeadlightError:
        return
    try:
        expected = theirs(name, folder)
    except Exception:
        expected = of_whole(name, folder)
    assert difference(logits, expected) <= TOLERANCE, said


@cache
def of_whole(name: str, folder: Path) -> Tensor:
    """transformers' logits of a folder with the config that it was saved with."""
    put(folder, whole(folder))
    return theirs(name, folder)


def keys_of(kind: str) -> Keys:
    module: Any = import_module(f"headlight.model.checkpoints.families.{kind}")
    keys: Keys = module.KEYS if kind == "gpt2" else module.FAMILY.read.args[0].keys
    return keys


@pytest.mark.parametrize("kind", [*families.ARCHITECTURES, *SEQ2SEQ_CASE])
def test_every_key_of_transformers_own_class_is_read_refused_or_has_no_share_in_a_pass(kind: str) -> None:
    config = CONFIG_MAPPING[TYPES.get(kind, kind)]
    keys = keys_of(kind)
    known = {config.attribute_map.get(name, name) for name in (*keys.read, *keys.allowed, *EVERYWHERE)} | UNUSED
    said = {config.attribute_map.get(field.name, field.name) for field in fields(config)}
    not_used = {  # by the model, of its class's keys
        "biogpt": {"layer_norm_eps"},
        "codegen": {"n_ctx"},
        "gemma3": {"attn_logit_softcapping"},
        "gpt_oss": {"hidden_act"},
        "mpt": {"learned_pos_emb"},
    }
    assert said - known == not_used.get(kind, set())


BOTH_SIDES = ["llama: grouped", "gpt2: tied", "mistral: tied", "gemma3: all local", "bloom: untied, three heads"]


@pytest.mark.parametrize(
    "name",
    [
        *BOTH_SIDES,
        *(pytest.param(name, marks=pytest.mark.thorough) for name in FIRST.values() if name not in BOTH_SIDES),
    ],
)
def test_a_decoder_that_looks_to_both_sides_is_what_transformers_computes(name: str, made: Folders) -> None:
    folder = folder_of(name, made)
    put(folder, whole(folder) | {"is_causal": False})
    # Of the one transformers' two implementations of attention compute different things, the other it cannot run so.
    if name.startswith(("stablelm", "mpt")):
        with pytest.raises(ConfigError, match="is_causal to false, which changes what the model computes"):
            load(folder)
        return
    model, logits = load(folder), theirs(name, folder)
    assert difference(model(tokens_of(CASES[name])), logits) <= TOLERANCE
    if name in BOTH_SIDES:
        assert model.cfg.attention_dir == "bidirectional"


@pytest.mark.parametrize("value", [None, 0, "no"])
def test_a_direction_that_is_no_switch_is_refused(value: object, made: Folders) -> None:
    folder = folder_of("llama: grouped", made)
    put(folder, whole(folder) | {"is_causal": value})
    with pytest.raises(ConfigError, match=f"is_causal to {json.dumps(value)}, .*supported is true or false"):
        load(folder)


@pytest.mark.parametrize("name", SEQ2SEQ_CASE.values())
def test_an_encoder_decoder_whose_decoder_looks_to_both_sides_is_refused(name: str, made: Folders) -> None:
    folder = folder_of(name, made)
    put(folder, whole(folder) | {"is_causal": True})
    expected = theirs(name, folder)
    assert difference(ours(name, folder), expected) <= TOLERANCE
    put(folder, whole(folder) | {"is_causal": False})
    assert difference(theirs(name, folder), expected) > 0.1
    with pytest.raises(ConfigError, match="is_causal to false, which changes what the model computes"):
        load_seq2seq(folder)


IGNORED: dict[str, dict[str, Any]] = {  # by architectures that go by another key or by none
    "llama: grouped": {"partial_rotary_factor": 0.5, "clip_qkv": 0.1, "use_bidirectional_attention": True},
    "gpt2: tied": {"head_dim": 2, "is_decoder": False, "attention_multiplier": 3.0},
    "gpt_neo: alternating": {"is_causal": False},
    "bert: tied": {"is_causal": False, "embedding_size": 7},
    "opt: norms before": {"head_dim": 2, "layer_norm_eps": 0.5},
    "gemma2: windows and caps": {"hidden_act": "relu", "mlp_bias": True},
    "gpt_oss: yarn, windows in turns": {"hidden_act": "relu", "mlp_bias": True, "norm_topk_prob": False},
    "gemma3: all local": {"attn_logit_softcapping": 0.5, "hidden_act": "relu"},
    "qwen2: tied": {"mlp_bias": True, "attention_bias": True},
    "mistral: tied": {"mlp_bias": True, "attention_bias": True},
    "olmo: grouped": {"rms_norm_eps": 0.5},
    "phi3: grouped": {"mlp_bias": True, "attention_bias": True},
    "mixtral: all, tied": {"attention_bias": True, "norm_topk_prob": False},
}


@pytest.mark.parametrize("name", IGNORED)
def test_what_transformers_ignores_is_ignored_and_said(name: str, made: Folders) -> None:
    folder = folder_of(name, made)
    put(folder, whole(folder) | IGNORED[name])
    model = load(folder)
    assert difference(model(tokens_of(CASES[name])), theirs(name, folder)) <= TOLERANCE
    said = {f"{key} = {json.dumps(value)}" for key, value in IGNORED[name].items() if key != "is_decoder"}
    assert {*model.source.unread} == said


def test_nothing_is_said_of_a_config_that_transformers_wrote(made: Folders) -> None:
    for name in ("llama: grouped", "gpt2: tied", "bert: tied", "gemma3: all local", "gpt_neo: alternating"):
        folder = folder_of(name, made)
        put(folder, whole(folder))
        assert load(folder).source.unread == ()


READ_TOO: list[tuple[str, dict[str, Any]]] = [  # in other spellings, or beside what they belong to
    ("gpt2: tied", {"n_head": None, "num_attention_heads": 2}),
    ("gpt2: tied", {"num_attention_heads": 1, "num_hidden_layers": 3}),
    ("gpt_neox: parallel", {"hidden_act": "gelu_fast"}),
    ("gpt_neox: parallel", {"rope_parameters": None, "rotary_pct": 0.5, "rotary_emb_base": 77}),
    ("llama: llama3", {"original_max_position_embeddings": 5}),
    ("llama: yarn", {"original_max_position_embeddings": 5}),
    ("llama: grouped", {"rope_parameters": None, "rope_theta": 77.0, "rope_scaling": {"type": "linear", "factor": 2}}),
    ("mistral: tied", {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}),
    ("mistral: tied", {"layer_types": ["sliding_attention", "full_attention", "full_attention"], "is_causal": False}),
    ("phi: half of each head", {"rope_parameters": None, "partial_rotary_factor": 1.0}),
]


@pytest.mark.parametrize(("name", "said"), READ_TOO)
def test_every_spelling_is_read_as_transformers_reads_it(name: str, said: dict[str, Any], made: Folders) -> None:
    folder = folder_of(name, made)
    config = whole(folder)
    put(folder, {key: value for key, value in (config | said).items() if value is not None or config[key] is None})
    model, logits = load(folder), theirs(name, folder)
    assert difference(model(tokens_of(CASES[name])), logits) <= TOLERANCE
    assert model.source.unread == ()


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 500.0,
    "original_max_position_embeddings": 4,
    "short_factor": [1.0, 1.5],
    "long_factor": [2.0, 3.0, 5.0],
}


@pytest.mark.parametrize(
    ("name", "said", "message"),
    [
        (
            "llama: linear",
            {"partial_rotary_factor": 0.5},
            r"a part of each head \(partial_rotary_factor 0\.5\); a llama turns whole heads\. Take",
        ),
        ("qwen2: tied", {"layer_types": ["chunked_attention"] * 3}, "layer_types is 'chunked_attention'; it can be"),
        ("qwen2: tied", {"layer_types": ["sliding_attention"] * 3}, "layers of sliding_attention, and tells no"),
        (
            "gemma3: all local",
            {"rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": None}}},
            "rope_theta of sliding_attention is None; it has to be a number greater than 0",
        ),
        ("llama: yarn", {"rope_parameters": YARN | {"rope_theta": 1.0}}, "rotary_base is 1; yarn needs another base"),
        (
            "llama: longrope",
            {"rope_parameters": LONGROPE},
            "longrope has 2 short and 3 long factors; there have to be 3",
        ),
        (
            "falcon: multi-query",
            {"num_ln_in_parallel_attn": 2},
            "num_ln_in_parallel_attn to 2 and new_decoder_architecture to false, which has 1. Correct whichever",
        ),
        ("falcon: grouped, two norms", {"num_ln_in_parallel_attn": 3}, "to 3 and .* to true, which has 1 or 2"),
        ("llama: grouped", {"per_layer_config": {"0": {"hidden_act": "relu"}}}, "sets per_layer_config to {"),
        ("bert: tied", {"position_embedding_type": "relative_key"}, 'position_embedding_type to "relative_key"'),
        ("bert: tied", {"add_cross_attention": True}, "add_cross_attention to true"),
        ("bloom: untied, three heads", {"apply_residual_connection_post_layernorm": True}, "supported is false"),
        ("qwen3_moe: every second layer, window, tied", {"num_hidden_layers": 2**30}, "asks for 1073741824 layers"),
    ],
)
def test_what_changes_the_arithmetic_and_is_not_supported_is_refused_by_name(
    name: str, said: dict[str, Any], message: str, made: Folders
) -> None:
    folder = folder_of(name, made)
    put(folder, whole(folder) | said)
    with pytest.raises(HeadlightError, match=message):
        load(folder)


@pytest.mark.parametrize("left_out", [True, False])
def test_a_t5_without_a_start_token_begins_with_padding(left_out: bool, made: Folders) -> None:
    folder = folder_of("t5: tied", made)
    config = whole(folder) | {"decoder_start_token_id": None, "pad_token_id": 3}
    put(folder, {key: value for key, value in config.items() if key != "decoder_start_token_id" or not left_out})
    assert load_seq2seq(folder).cfg.start_token == 3
    assert_same_or_refused("t5: tied", folder, "t5")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"is_encoder_decoder": False}, "is_encoder_decoder to false, which changes what the model computes"),
        ({"relative_attention_max_distance": 3}, "max_distance is 3; of 8 buckets 4 hold one distance each"),
    ],
)
def test_a_t5_that_cannot_be_computed_is_refused(said: dict[str, Any], message: str, made: Folders) -> None:
    folder = folder_of("t5: tied", made)
    put(folder, whole(folder) | said)
    with pytest.raises(ConfigError, match=message):
        load_seq2seq(folder)


EVERY = [*FIRST.values(), *SEQ2SEQ_CASE.values()]


def without(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A config without each of its keys that matter, or with null there, and without all of the others at once."""
    for key in config.keys() - UNUSED:
        yield f"no {key}", {name: value for name, value in config.items() if name != key}
        yield f"{key} is null", config | {key: None}
    yield "no others", {name: value for name, value in config.items() if name not in UNUSED or name == "model_type"}


@pytest.mark.thorough
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", EVERY)
def test_a_key_that_is_missing_or_null_ends_in_transformers_model_or_in_words(name: str, made: Folders) -> None:
    folder = folder_of(name, made)
    for said, config in without(whole(folder)):
        put(folder, config)
        assert_same_or_refused(name, folder, said)


BESIDE: dict[str, Any] = {  # what transformers' models read, or some of them, though their config classes have it not
    "is_causal": False,
    "use_bidirectional_attention": True,
    "sliding_window": 3,
    "layer_types": ["full_attention"] * 3,
    "head_dim": 2,
    "partial_rotary_factor": 0.5,
    "rope_theta": 77.0,
    "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    "attention_chunk_size": 4,
}


def other(value: Any) -> Iterator[Any]:
    """Values of the same type as one of config.json's."""
    if isinstance(value, bool) or value is None:
        yield not value
    elif isinstance(value, int):
        yield from (2 * value, max(1, value // 2))
    elif isinstance(value, float):
        yield from (2 * value, value / 2)
    elif isinstance(value, str):
        yield from ("relu", "silu")
    elif isinstance(value, list):
        yield from (value[::-1], value[:-1])
    elif isinstance(value, dict):
        for key in value:
            for changed in other(value[key]):
                yield value | {key: changed}


@pytest.mark.thorough
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", EVERY)
def test_another_value_ends_in_transformers_model_or_in_words(name: str, made: Folders) -> None:
    folder = folder_of(name, made)
    config = whole(folder)
    values = {key: list(other(config[key])) for key in config.keys() - UNUSED}
    for key, value in BESIDE.items():
        values.setdefault(key, []).append(value)
    for key, others in values.items():
        for value in others:
            put(folder, config | {key: deepcopy(value)})
            assert_same_or_refused(name, folder, f"{key} is {value}")


WRONG = ("x", [1], [], {"a": 1}, {"rope_type": "spiral"}, -1, 0, 0.5, 1e300, float("nan"))


MULTIMODAL = {name.partition(":")[0]: name for name in CASES if name.partition(":")[0] not in FIRST}  # in all its cases


@pytest.mark.thorough
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", [*EVERY, *MULTIMODAL.values()])
def test_a_value_of_a_wrong_type_ends_in_a_model_or_in_words(name: str, made: Folders) -> None:
    folder = folder_of(name, made)
    keys = whole(folder).keys() - {"architectures", "model_type"}
    for value in WRONG:
        for key in keys - UNUSED:
            assert_opens_or_refused(name, folder, [key], value)
        assert_opens_or_refused(name, folder, sorted(keys & UNUSED), value)


def assert_opens_or_refused(name: str, folder: Path, keys: list[str], value: object) -> None:
    """A value at some keys raises nothing but a refusal in words; where it refuses all of them, parts are tried."""
    put(folder, whole(folder) | dict.fromkeys(keys, value))
    try:
        ours(name, folder)
    except HeadlightError:
        middle = len(keys) // 2
        for part in (keys[:middle], keys[middle:]) if middle else ():
            assert_opens_or_refused(name, folder, part, value)
