"""Settings in adapter_config.json of a LoRA: every key that peft knows, with the values that are supported here.

Source: peft's LoraConfig (0.21), its `get_pattern_key` and `check_target_module_exists`, and its table of what is
trained where `target_modules` is not set (`TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING`).
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headlight.model.base.errors import ConfigError
from headlight.model.base.files import read_json

CONFIG = "adapter_config.json"
REMEDY = "Merge it in peft, where that can: merge_and_unload(), then save_pretrained(folder), and open that folder."
DEFAULT_RANK = DEFAULT_ALPHA = 8
OFF: tuple[object, ...] = (None, False, "", [], {})
LAYER = r".*?\.[^.]*\.(\d+)\."  # the first number in a module's name

# Keys of training alone, or of what lies beside the weights. Conv1D and Linear decide what fan_in_fan_out would say.
IGNORED = {
    "auto_mapping",
    "base_model_name_or_path",
    "corda_config",
    "ensure_weight_tying",
    "eva_config",
    "fan_in_fan_out",
    "inference_mode",
    "lora_dropout",
    "lora_ga_config",
    "loftq_config",
    "megatron_core",
    "merge_weights",
    "peft_version",
    "qalora_group_size",
    "revision",
    "runtime_config",
    "velora_config",
}
OTHER_BASES = ("pissa", "olora", "corda", "loftq", "lora_ga")  # which change the base's weights as training begins
PROMPTS = ("PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "ADAPTION_PROMPT", "CPT")
ALL_LINEAR = "all-linear"
_Q_AND_V = "bart gemma gemma2 gemma3_text gpt_neo gptj llama mistral mixtral opt qwen2 qwen3 stablelm"
DEFAULT_TARGETS: dict[str, tuple[str, ...]] = {  # by the model_type of the base
    **dict.fromkeys(_Q_AND_V.split(), ("q_proj", "v_proj")),
    **dict.fromkeys(("bert", "electra", "roberta"), ("query", "value")),
    **dict.fromkeys(("bloom", "falcon", "gpt_neox"), ("query_key_value",)),
    **dict.fromkeys(("gpt2", "gpt_bigcode"), ("c_attn",)),
    "phi": ("q_proj", "v_proj", "fc1", "fc2"),
    "t5": ("q", "v"),
}
HEADS = {  # the classes of the models that are trained with a head in place of a language model's
    "SEQ_CLS": "ForSequenceClassification",
    "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering",
}


@dataclass(frozen=True)
class LoraSettings:
    """adapter_config.json's settings, all of which can be computed. Names of modules are the base's, as peft has them.

    Raises:
        ConfigError: a key that is not known, or a value that is not computed here.
    """

    config: Mapping[str, Any]

    def __post_init__(self) -> None:
        _refuse_kinds(self.config)
        for name, value in self.config.items():
            if name not in IGNORED and not COMPUTED.get(name, _is_off)(value):
                raise ConfigError(f"{CONFIG} sets {name} to {value!r}, which is not computed here. {REMEDY}")

    @classmethod
    def read(cls, folder: Path) -> "LoraSettings":
        """Read the settings of an adapter folder."""
        return cls(read_json(folder / CONFIG))

    @property
    def base(self) -> str:
        """The folder or hub name of the base."""
        return str(self.config.get("base_model_name_or_path"))

    @property
    def trained_class(self) -> str:
        """The class of the model that was trained, where its head is none of a language model; else empty."""
        mapped = self.config.get("auto_mapping")
        named = str(mapped.get("base_model_class")) if isinstance(mapped, dict) else ""
        return HEADS.get(str(self.config.get("task_type")), named if named.endswith((*HEADS.values(),)) else "")

    @property
    def use_dora(self) -> bool:
        """Whether rows of the sum have lengths of their own."""
        return bool(self.config.get("use_dora"))

    def scale(self, module: str, rank: int) -> float:
        """The factor of a module's low-rank product.

        Raises:
            ConfigError: the halves are not of the rank that the settings give the module.
        """
        expected = self._by_pattern("rank_pattern", module, self.config.get("r", DEFAULT_RANK))
        if expected != rank:
            raise ConfigError(f"{CONFIG} gives {module} the rank {expected}; its lora_A has {rank} rows. {REMEDY}")
        alpha = self._by_pattern("alpha_pattern", module, self.config.get("lora_alpha", DEFAULT_ALPHA))
        return float(alpha / (rank**0.5 if self.config.get("use_rslora") else rank))

    def _by_pattern(self, patterns: str, module: str, otherwise: Any) -> Any:
        by_pattern = self.config.get(patterns) or {}
        return next((value for key, value in by_pattern.items() if re.match(rf"(.*\.)?({key})$", module)), otherwise)

    @property
    def has_bias(self) -> bool:
        """Whether the second of a module's halves has a bias."""
        return bool(self.config.get("lora_bias"))

    @property
    def ties(self) -> bool:
        """Whether the update of the token embedding also applies to the unembedding tied to it."""
        return bool(self.config.get("ensure_weight_tying"))

    def is_saved(self, module: str) -> bool:
        """Whether a module was trained whole."""
        names = self.config.get("modules_to_save") or []
        return any(re.match(rf"(^|.*\.){name}($|\..*)", module) for name in names)

    def is_target(self, module: str, model_type: str, is_linear: bool) -> bool:
        """Whether the settings target a module; peft ignores tensors in the file for any other.

        A module that a list has by its whole name is one in whichever layer. `model_type` is the base's, and
        `is_linear` says that the module is a linear layer and not the unembedding.

        Raises:
            ConfigError: the settings name no modules, and peft has no default for such a base.
        """
        if self.is_saved(module) or _is_listed(module, self.config.get("exclude_modules")):
            return False
        targets = self._targets(model_type)
        if isinstance(targets, str) and targets.lower() == ALL_LINEAR:
            return is_linear
        in_any_layer = isinstance(targets, str) or module in targets
        return _is_listed(module, targets) and (in_any_layer or self._is_in_layers(module))

    def _targets(self, model_type: str) -> str | Collection[str]:
        named: str | list[str] | None = self.config.get("target_modules")
        targets = DEFAULT_TARGETS.get(model_type) if named is None else named
        if targets is None:
            raise ConfigError(
                f"{CONFIG} sets no target_modules, and peft has no default for a base of the kind {model_type!r}. Set "
                'them to the names of the modules that were trained, such as ["q_proj", "v_proj"].'
            )
        return targets

    def _is_in_layers(self, module: str) -> bool:
        layers, patterns = self.config.get("layers_to_transform"), self.config.get("layers_pattern") or []
        if layers in (None, []):
            return True
        named = [rf"(?:^|.*?\.){each}\.(\d+)\." for each in ([patterns] if isinstance(patterns, str) else patterns)]
        match = next(filter(None, (re.match(each, module) for each in named or [LAYER])), None)
        return match is not None and int(match[1]) in ([layers] if isinstance(layers, int) else layers)

    def token_rows(self, module: str) -> list[int]:
        """The tokens whose embeddings were trained one by one.

        Raises:
            ConfigError: the settings name none of that module.
        """
        indices = self.config.get("trainable_token_indices")
        if isinstance(indices, dict):
            indices = next((rows for name, rows in indices.items() if _is_listed(module, [name])), None)
        if indices is None:
            raise ConfigError(f"{CONFIG} does not say which tokens of {module} were trained. {REMEDY}")
        return list(indices)


def _refuse_kinds(config: Mapping[str, Any]) -> None:
    """Refuse adapters other than a LoRA of a whole model on its unchanged base, and name their kind."""
    kind, begun = config.get("peft_type"), config.get("init_lora_weights")
    if kind in PROMPTS:
        raise ConfigError(
            f"{CONFIG} sets peft_type to {kind!r}: vectors that were trained go before the prompt or into the "
            "attention, which is not computed here and cannot be merged into weights. Open its base alone."
        )
    if kind != "LORA":
        raise ConfigError(f"{CONFIG} sets peft_type to {kind!r}; only 'LORA' is computed here. {REMEDY}")
    if isinstance(begun, str) and begun.lower().startswith(OTHER_BASES):
        raise ConfigError(
            f"{CONFIG} sets init_lora_weights to {begun!r}: that changed the base's weights before training, so the "
            "adapter does not fit the base as it was published. Convert it in peft, by save_pretrained(folder, "
            "path_initial_model_for_weight_conversion=...), or merge it into the base that it was trained on: "
            "merge_and_unload(), then save_pretrained(folder)."
        )


def _is_listed(module: str, names: str | Iterable[str] | None) -> bool:
    """Whether a module is named: by a regular expression for the whole name, or by a list of names or their ends."""
    if isinstance(names, str):
        return bool(names) and re.fullmatch(names, module) is not None
    return any(module == name or module.endswith(f".{name}") for name in names or ())


def _is_off(value: object) -> bool:
    return any(value is off or (value == off and type(value) is type(off)) for off in OFF)


def _is_none(value: object) -> bool:
    return value is None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_switch(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and re.compile(value) is not None
    except re.error:
        return False


def _is_list_of(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(is_one, value))


def _is_by_pattern(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(_is_pattern(key) and is_one(value[key]) for key in value)


def _any_of(*kinds: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or any(is_one(value) for is_one in kinds)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_NAMES = _any_of(_is_pattern, _is_list_of(_is_pattern))
# Of these peft takes an empty object for one with its defaults.
_UNSUPPORTED = dict.fromkeys(
    ("arrow_config", "kasa_config", "megatron_config", "monteclora_config", "use_bdlora"), _is_none
)
COMPUTED: dict[str, Callable[[object], bool]] = {
    **_UNSUPPORTED,
    "alpha_pattern": _any_of(_is_by_pattern(_is_number)),
    "bias": lambda value: value in ("none", "all", "lora_only", None),
    "exclude_modules": _NAMES,
    "init_lora_weights": lambda value: _is_switch(value) or value in ("gaussian", "eva", "orthogonal", "mica"),
    "layers_pattern": _NAMES,
    "layers_to_transform": _any_of(_is_index, _is_list_of(_is_index)),
    "lora_alpha": _is_number,
    "lora_bias": _is_switch,
    "modules_to_save": _any_of(_is_list_of(_is_pattern)),
    "peft_type": lambda value: value == "LORA",
    "r": _is_count,
    "rank_pattern": _any_of(_is_by_pattern(_is_count)),
    "target_modules": _NAMES,
    "task_type": lambda value: value in ("CAUSAL_LM", "SEQ_2_SEQ_LM", "FEATURE_EXTRACTION", None, *HEADS),
    "trainable_token_indices": _any_of(_is_list_of(_is_index), _is_by_pattern(_is_list_of(_is_index))),
    "use_dora": _is_switch,
    "use_rslora": _is_switch,
}
