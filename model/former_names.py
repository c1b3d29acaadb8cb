"""Modules and keywords by their names of version 0.1, so that scripts that were saved then go on running."""

import functools
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MODULES = {  # as the scripts of 0.1 import them, and where what they import from them is now
    "dictionaries": "features",
    "dictionaries.opening": "features.opening",
    "edits": "runs.edits",
    "explain": "attribution",
    "explain.explained": "attribution.explanation",
    "patching.patchscope": "lens.patchscope",
    "reports": "",
    "reports.features": "features.tables",
    "reports.graph": "graph.tables",
    "reports.mlp": "neurons.tables",
}
CLASSES = {
    "explain.explained": {"Asked": "CellQuestion"},
    "reports.features": {"Order": "FeatureOrder"},
    "reports.graph": {"Settings": "GraphSettings"},
    "reports.mlp": {"Asked": "NeuronQuestion"},
}
LIBRARY = __name__.rpartition(".")[0]


class FormerNames(MetaPathFinder, Loader):
    """Finds the modules of `MODULES`: empty ones, which look every name up where it is now."""

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a module of 0.1; None of any other name."""
        name = fullname.removeprefix(f"{LIBRARY}.")
        return ModuleSpec(fullname, self, is_package=True) if name in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look its names up."""
        name = module.__name__.removeprefix(f"{LIBRARY}.")
        home, renamed = f"{LIBRARY}.{MODULES[name]}".rstrip("."), CLASSES.get(name, {})

        def look_up(name: str) -> Any:
            return getattr(import_module(home), renamed.get(name, name))

        vars(module)["__getattr__"] = look_up


def former_keywords(**renamed: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Accept keyword arguments of a function by their former names; `renamed` maps each to the present one."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def call(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
            return function(*args, **{renamed.get(name, name): value for name, value in named.items()})  # type: ignore[arg-type]

        return call

    return decorate
