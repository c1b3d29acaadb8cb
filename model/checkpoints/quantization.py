"""Checkpoints whose weights are quantised: refused, with what transformers can do about each method.

Source: the quantisers of transformers, of which some dequantise a model, and some as they load it.
"""

from typing import Any

from headlight.model.base.errors import ConfigError

AFTER_LOADING = ("bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit", "higgs")
WHILE_LOADING = {
    "compressed-tensors": "CompressedTensorsConfig",
    "fp8": "FineGrainedFP8Config",
    "metal": "MetalConfig",
    "mxfp4": "Mxfp4Config",
}
KEYS = ("quantization_config", "compression_config", "quantization")  # of transformers, of its older files, of MLX


def refuse_quantised(raw_config: dict[str, Any]) -> None:
    """Refuse a config.json whose weights are quantised.

    Raises:
        ConfigError: they are; the message says what transformers can do about it.
    """
    how = next((raw_config[key] for key in KEYS if raw_config.get(key) not in (None, {}, False)), None)
    if how is not None:
        method = _method(how) if isinstance(how, dict) else str(how)
        raise ConfigError(f"The weights are quantised ({method}), which is not supported. {_way_out(method)}")


def _method(how: dict[str, Any]) -> str:
    if how.get("quant_method"):
        return str(how["quant_method"])
    if how.get("load_in_4bit") or how.get("load_in_8bit"):  # of files from before methods had names
        return "bitsandbytes"
    return "MLX's" if "group_size" in how else "an unknown method"


def _way_out(method: str) -> str:
    if method in AFTER_LOADING:
        return (
            "Save them unquantised: load the model in transformers, call model.dequantize() and "
            "model.save_pretrained(folder). It stays as coarse as it is."
        )
    if method in WHILE_LOADING:
        return (
            f"Save them unquantised: load the model in transformers with quantization_config={WHILE_LOADING[method]}"
            "(dequantize=True) and call model.save_pretrained(folder). It stays as coarse as it is."
        )
    return "transformers cannot turn them back: open the unquantised model that they were made from."
