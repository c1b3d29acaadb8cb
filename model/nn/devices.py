"""A model's layers over several devices, one after the other, where it is too large for one of them.

    model = over_devices(load("owner/name"))  # the GPUs that there are, by their memory
    model = over_devices(load("owner/name"), device_map_of(model, {0: "20GB", 1: "40GB"}))

Needs the extra `devices`.
"""

from collections.abc import Mapping

from headlight.model.nn.transformer import Transformer

BEFORE = ("embed", "pos_embed", "token_type_embed", "embed_ln", "embed_project", "dropout")
BEHIND = ("ln_final", "mlm_head", "pooler", "value_head", "unembed")


def over_devices(model: Transformer, device_map: Mapping[str, str] | None = None) -> Transformer:
    """Put each part of a model on a device, by accelerate's hooks; gives the model, which is changed.

    `device_map` is that of `device_map_of` if it is left out. Taps get activations on their layer's device, and
    what a pass returns is where its tokens are. Layers that are left on "cpu" beside GPUs are brought to the first of
    these in each pass; such a model makes one pass at a time.

    Raises:
        ImportError: accelerate is not installed.
    """
    from accelerate import dispatch_model

    device_map_used = dict(device_map_of(model) if device_map is None else device_map)
    model.reads_ahead = False
    first = next((device for device in device_map_used.values() if device != "cpu"), "cpu")
    dispatch_model(model, device_map_used, main_device=first)
    return model


def device_map_of(model: Transformer, max_memory: Mapping[int | str, int | str] | None = None) -> dict[str, str]:
    """Device of each part of a model: layers by free memory, embeddings with the first, the rest with the last.

    `max_memory` is by the number of a GPU and by "cpu", and what there is if it is left out. An unembedding that is the
    embedding, transposed, stays with that.

    Raises:
        ImportError: accelerate is not installed.
    """
    from accelerate import infer_auto_device_map

    whole = [type(block).__name__ for block in model.blocks]
    placement = infer_auto_device_map(
        model, None if max_memory is None else dict(max_memory), no_split_module_classes=whole
    )
    layers = {name: _device_of(name, placement) for name in (f"blocks.{layer}" for layer in range(model.cfg.n_layers))}
    first, *_, last = [*layers.values()] * 2
    parts = dict.fromkeys(BEFORE, first) | layers | dict.fromkeys(BEHIND, last)
    if model.cfg.tie_word_embeddings:
        parts["unembed"] = first
    modules = dict(model.named_modules())
    return {name: device for name, device in parts.items() if name in modules}


def _device_of(name: str, placement: Mapping[str, int | str]) -> str:
    """The device of a part, or of that which holds it."""
    while name not in placement:
        name = name.rpartition(".")[0]
    device = placement[name]
    if isinstance(device, int):
        return f"cuda:{device}"
    return "cpu" if device == "disk" else device  # what is mapped from files takes no memory
