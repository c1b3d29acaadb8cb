"""What adapter_config.json may say: each key is computed as peft does, or refused by name."""

from contextlib import suppress
from typing import Any

import pytest

from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.lora_settings import LoraSettings

Q, UP, EXPERT = "model.layers.1.self_attn.q_proj", "model.layers.10.mlp.up_proj", "model.layers.1.mlp.experts.3.up_proj"
AS_SAVED: dict[str, Any] = {  # by peft 0.21's save_pretrained
    "alora_invocation_tokens": None,
    "alpha_pattern": {},
    "arrow_config": None,
    "auto_mapping": None,
    "base_model_name_or_path": "base",
    "bias": "none",
    "corda_config": None,
    "ensure_weight_tying": False,
    "eva_config": None,
    "exclude_modules": None,
    "fan_in_fan_out": False,
    "inference_mode": True,
    "init_lora_weights": True,
    "kasa_config": None,
    "layer_replication": None,
    "layers_pattern": None,
    "layers_to_transform": None,
    "loftq_config": {},
    "lora_alpha": 5,
    "lora_bias": False,
    "lora_dropout": 0.1,
    "lora_ga_config": None,
    "megatron_config": None,
    "megatron_core": "megatron.core",
    "modules_to_save": None,
    "monteclora_config": None,
    "peft_type": "LORA",
    "peft_version": "0.21.2",
    "qalora_group_size": 16,
    "r": 2,
    "rank_pattern": {},
    "revision": None,
    "target_modules": ["q_proj"],
    "target_parameters": None,
    "task_type": "CAUSAL_LM",
    "trainable_token_indices": None,
    "use_bdlora": None,
    "use_dora": False,
    "use_qalora": False,
    "use_rslora": False,
    "velora_config": None,
}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"lora_alpha": 0.5, "lora_dropout": 0.3, "revision": "main", "inference_mode": False},
        {"init_lora_weights": "gaussian"},
        {"init_lora_weights": "eva", "eva_config": {"rho": 2.0}},  # changes the halves alone, not the base
        {"init_lora_weights": "orthogonal"},
        {"loftq_config": {"loftq_bits": 4}},  # which peft ignores beside another init_lora_weights
        {"use_of_tomorrow": None, "another": False},  # off
        {"merge_weights": True},  # of peft's first versions
    ],
)
def test_what_bears_on_training_alone_is_let_through(config: dict[str, Any]) -> None:
    assert LoraSettings(AS_SAVED | config).scale(Q, 2) == (0.25 if "lora_alpha" in config else 2.5)


@pytest.mark.parametrize(
    "config",
    [
        {"alora_invocation_tokens": [1, 2]},
        {"arrow_config": {"top_k": 2}},
        {"bias": "some"},
        {"init_lora_weights": "another"},
        {"kasa_config": {"beta": 0.1}},
        {"kasa_config": {}},  # with which peft takes KaSA's defaults
        {"layer_replication": [[0, 2], [1, 3]]},
        {"lora_alpha": "7"},
        {"lora_alpha": None},
        {"alpha_pattern": {"q_proj": "7"}},
        {"alpha_pattern": {"q_proj)": 7}},
        {"rank_pattern": {"q_proj": 0}},
        {"r": True},
        {"megatron_config": {"a": 1}},
        {"monteclora_config": {"num_samples": 3}},
        {"target_parameters": ["mlp.experts.gate_up_proj"]},
        {"target_modules": "(q_proj"},
        {"use_bdlora": {"nblocks": 2}},
        {"use_qalora": True},
        {"use_dora": "yes"},
        {"use_of_tomorrow": True},
        {"gain_of_tomorrow": 0},
        {"peft_type": "ADALORA"},
        {"peft_type": "IA3"},
    ],
)
def test_what_changes_the_arithmetic_is_refused_by_name_with_the_way_out(config: dict[str, Any]) -> None:
    with pytest.raises(
        ConfigError, match=rf"sets {next(iter(config))} to .*merge_and_unload\(\), then save_pretrained"
    ):
        LoraSettings(AS_SAVED | config)


WRONG: tuple[Any, ...] = (
    None,
    "x",
    -1,
    0.5,
    float("nan"),
    True,
    [],
    [1],
    [None],
    [[1]],
    {},
    {"a": 1},
    {"q_proj": None},
)


@pytest.mark.parametrize("key", AS_SAVED)
def test_a_key_that_is_missing_or_of_a_wrong_type_ends_in_settings_or_in_words(key: str) -> None:
    without = {name: value for name, value in AS_SAVED.items() if name != key}
    for config in (without, *(AS_SAVED | {key: value} for value in WRONG)):
        with suppress(ConfigError):
            settings = LoraSettings(config)
            is_target = settings.is_target(Q, "llama", is_linear=True)
            assert isinstance(is_target or settings.has_bias or settings.use_dora or settings.ties, bool)
            settings.scale(Q, 2)
            settings.token_rows("model.embed_tokens")


@pytest.mark.parametrize("begun", ["pissa", "pissa_niter_16", "olora", "OLoRA", "corda", "loftq", "lora_ga"])
def test_adapters_of_a_base_that_was_changed_are_refused(begun: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"init_lora_weights to '{begun}': that changed the base's weights .*Convert"
    ):
        LoraSettings(AS_SAVED | {"init_lora_weights": begun})


@pytest.mark.parametrize("kind", ["PROMPT_TUNING", "PREFIX_TUNING", "P_TUNING"])
def test_of_what_cannot_be_merged_nobody_is_told_to_merge_it(kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"{kind}.* cannot be merged into weights\. Open its base alone\.$"):
        LoraSettings({"peft_type": kind, "num_virtual_tokens": 3})


# The modules that peft's check_target_module_exists takes, from its documentation: a string is a regular expression of
# the whole name, a list has names or their ends, and the layer is the first number that a name has.
@pytest.mark.parametrize(
    ("config", "targets"),
    [
        ({"target_modules": ["q_proj"]}, {Q}),
        ({"target_modules": ["proj"]}, set()),
        ({"target_modules": ["up_proj", Q]}, {Q, UP, EXPERT}),
        ({"target_modules": "q_proj"}, set()),
        ({"target_modules": r".*layers\.1\..*(q|up)_proj"}, {Q, EXPERT}),
        ({"target_modules": "all-linear"}, {Q, UP, EXPERT}),
        ({"target_modules": "All-Linear", "exclude_modules": ["q_proj"]}, {UP, EXPERT}),
        ({"target_modules": []}, set()),
        ({"target_modules": None}, {Q}),
        ({"target_modules": None, "layers_to_transform": [10]}, set()),
        ({"target_modules": ["q_proj", "up_proj"], "exclude_modules": ["up_proj"]}, {Q}),
        ({"target_modules": ["q_proj", "up_proj"], "exclude_modules": r".*experts.*"}, {Q, UP}),
        ({"target_modules": ["q_proj", "up_proj"], "layers_to_transform": 10}, {UP}),
        ({"target_modules": ["q_proj", "up_proj"], "layers_to_transform": [1, 3]}, {Q, EXPERT}),
        ({"target_modules": ["up_proj", Q], "layers_to_transform": 10}, {Q, UP}),
        ({"target_modules": ["q_proj", "up_proj"], "modules_to_save": ["experts"]}, {Q, UP}),
        ({"target_modules": ["up_proj"], "layers_to_transform": [3], "layers_pattern": "experts"}, {EXPERT}),
        ({"target_modules": ["up_proj"], "layers_to_transform": [10], "layers_pattern": ["h", "layers"]}, {UP}),
    ],
)
def test_modules_are_chosen_as_peft_chooses_them(config: dict[str, Any], targets: set[str]) -> None:
    settings = LoraSettings(AS_SAVED | config)
    assert {module for module in (Q, UP, EXPERT) if settings.is_target(module, "llama", is_linear=True)} == targets


def test_all_linear_layers_are_without_embedding_and_unembedding() -> None:
    settings = LoraSettings(AS_SAVED | {"target_modules": "all-linear"})
    assert not settings.is_target("lm_head", "llama", is_linear=False)


# peft's own table, of its version 0.21, for what opens here as its base.
@pytest.mark.parametrize(
    ("targets", "model_types"),
    [
        ({"q_proj", "v_proj"}, "bart opt gptj gpt_neo llama mistral mixtral stablelm gemma gemma2 gemma3_text"),
        ({"q_proj", "v_proj"}, "qwen2 qwen3"),
        ({"q_proj", "v_proj", "fc1", "fc2"}, "phi"),
        ({"query_key_value"}, "bloom gpt_neox falcon"),
        ({"query", "value"}, "bert roberta electra"),
        ({"c_attn"}, "gpt2 gpt_bigcode"),
        ({"q", "v"}, "t5"),
    ],
)
def test_where_no_modules_are_named_they_are_pefts_for_the_base(targets: set[str], model_types: str) -> None:
    modules = {
        "q_proj",
        "k_proj",
        "v_proj",
        "fc1",
        "fc2",
        "query_key_value",
        "query",
        "key",
        "value",
        "c_attn",
        "q",
        "v",
    }
    for config in (AS_SAVED | {"target_modules": None}, {"peft_type": "LORA"}):
        settings = LoraSettings(config)
        for model_type in model_types.split():
            assert {
                each for each in modules if settings.is_target(f"a.0.{each}", model_type, is_linear=True)
            } == targets


@pytest.mark.parametrize("model_type", ["olmo", "phi3", "marian", "gemma3"])
def test_where_neither_the_settings_nor_peft_name_modules_the_names_are_asked_for(model_type: str) -> None:
    settings = LoraSettings(AS_SAVED | {"target_modules": None})
    with pytest.raises(ConfigError, match=rf"no target_modules, and peft .* '{model_type}'\. Set them to the names of"):
        settings.is_target(Q, model_type, is_linear=True)
