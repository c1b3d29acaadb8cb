"""Describe a file or folder that is not a supported model, and say what to do."""

from pathlib import Path

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json, refuse_pointer
from headlight.model.checkpoints.places import FIRST_CONFIG, inner_models

OPENS = (
    "What opens is a Hugging Face folder (config.json and weights) of an architecture in the manual's tables, a LoRA "
    "beside its base, a GGUF file, or a state dict of TransformerLens or GPT-2."
)
FILES = {
    ".h5": "weights of TensorFlow. Load the model in transformers and call save_pretrained(folder)",
    ".msgpack": "weights of Flax. Load the model in transformers and call save_pretrained(folder)",
    ".onnx": "an ONNX graph. Open the Hugging Face folder that it was made from",
    ".zip": "a packed folder. Unpack it first",
    ".gz": "a packed folder. Unpack it first",
    ".tar": "a packed folder. Unpack it first",
    ".json": "a file that belongs to a model. Give the folder that it lies in",
    ".model": "a file that belongs to a model. Give the folder that it lies in",
}
WEIGHTS = (".bin", ".gguf", ".safetensors", ".h5", ".msgpack", ".onnx", ".ckpt", ".pt", ".pth")
PROGRAMS = {  # by a file that only its folders have
    "shared_vocabulary.*": "CTranslate2",
    "source_vocabulary.*": "CTranslate2",
    "decoder.yml": "Marian's own program",
    "saved_model.pb": "TensorFlow",
    "*.ckpt*.index": "TensorFlow",
    "openvino_model.xml": "OpenVINO",
}
MAX_NAMED = 3


def unknown(path: Path, called: str) -> str:
    """A sentence that describes a path, and one about paths that would open.

    Raises:
        CheckpointError: the file, or weights in the folder, are a pointer of Git LFS.
    """
    refuse_pointers(path)
    if path.is_file():
        looks = FILES.get(path.suffix.lower())
        return f"{called} is {looks}." if looks else f"{called} is a file of a kind that is not known. {OPENS}"
    if inner := [str(each.relative_to(path)) for each in inner_models(path)]:
        named = " or ".join(inner[:MAX_NAMED]) + (f" (of {len(inner)})" if len(inner) > MAX_NAMED else "")
        what = "a sentence-transformers folder" if (path / "modules.json").is_file() else "a folder around a model"
        return f"{called} is {what}, not the model's own. Open {named} in it."
    program = next((name for mark, name in PROGRAMS.items() if any(path.glob(mark))), None)
    if program and not (path / "pytorch_model.bin").is_file():
        return f"{called} holds weights of {program}. Open the Hugging Face folder that they were made from."
    if (path / FIRST_CONFIG).is_file() and not (path / "config.json").is_file():
        return f"{called} has {FIRST_CONFIG}, as the first BERTs, in the place of config.json. Copy it to config.json."
    return f"{called} {_lacks(path)} {OPENS}"


def _lacks(folder: Path) -> str:
    """Describe a folder without a supported model in it."""
    try:
        config = read_json(folder / "config.json") if (folder / "config.json").is_file() else None
    except CheckpointError:
        return "has a config.json that cannot be read."
    if config is not None and (kind := config.get("model_type")):
        return f"is a {kind!r}, which is none of the architectures that open."
    if config is not None:
        return "has a config.json without a model_type, so that it does not say which architecture it is."
    if weights := weights_in(folder):
        return f"holds {weights}, but no config.json that says what they are weights of."
    return "is not a model of a kind that is known: it has no config.json."


def refuse_pointers(path: Path) -> None:
    """Refuse pointers in the place of a file, or of the weights in a folder, whatever kind they would be of.

    Raises:
        CheckpointError: there is one.
    """
    for each in [path] if path.is_file() else sorted(path.glob("*")):
        if each == path or each.suffix.lower() in WEIGHTS:
            refuse_pointer(each)


def weights_in(folder: Path) -> str:
    """The files in a folder that look like weights, the first few by name."""
    names = sorted(path.name for path in folder.glob("*") if path.suffix.lower() in WEIGHTS)
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
