"""The library's annotations as checks, for as long as tests run: shapes by jaxtyping, all else by beartype."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, get_args

import jaxtyping
from jaxtyping import AbstractArray, jaxtyped

# An int may stand wherever a float may, as for mypy.
TYPECHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"


def check_annotations(package: str) -> None:
    """Check what all functions and dataclasses of a package take and give, of which nothing may be imported yet."""
    jaxtyping.jaxtyped = partial(partial, _checked)  # which the hook writes before each, with the type checker
    jaxtyping.install_import_hook(package, TYPECHECKER)


@contextmanager
def unchecked_annotations() -> Iterator[None]:
    """The library as users run it, and as fast."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def _checked(what: Any, *, typechecker: Callable[[Any], Any]) -> Any:
    """A class or function with its annotations as checks.

    What jaxtyping does by itself takes some 40 microseconds a call, of a million calls: it checks what is given a
    second time with what comes back, keeps shapes even where no annotation names one, and binds every argument to its
    name for shapes that are computed from values, of which there are none here.
    """
    if inspect.isclass(what):
        if dataclasses.is_dataclass(what) and "__init__" in vars(what):
            what.__init__ = _checked(what.__init__, typechecker=typechecker)
        return what
    annotations = list(what.__annotations__.values())
    # It leaves out what a generator yields, and names in quotes, which may be there for static type checkers alone.
    if inspect.isgeneratorfunction(what) or any(isinstance(each, str) for each in annotations):
        return jaxtyped(what, typechecker=typechecker)
    checked, names_shape = typechecker(what), _names_shape(annotations)

    @wraps(what)
    def switched(*args: Any, **kwargs: Any) -> Any:
        if jaxtyping.config.jaxtyping_disable:
            return what(*args, **kwargs)
        if not names_shape:
            return checked(*args, **kwargs)
        with jaxtyped("context"):
            return checked(*args, **kwargs)

    return switched


def _names_shape(annotation: Any) -> bool:
    inner = annotation if isinstance(annotation, list) else get_args(annotation)
    return (inspect.isclass(annotation) and issubclass(annotation, AbstractArray)) or any(map(_names_shape, inner))
