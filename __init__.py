"""Headlight: what every attention head of a transformer does with a prompt."""

from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """`headlight.show`, which needs what the page needs: pip install 'headlight[app]'."""
    if name == "show":
        return import_module("headlight.app.show")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
