"""What whoever starts the server decides: by flag, environment variable or file, in that order.

Not pydantic-settings, which was tried: of a wrong value it does not say under which flag, variable or line it was
given, of a wrong name not the nearest one, and it takes `threads = true`, `threads = "3"` and `--any-model yes`. What
would mend that is about as long as the parsing that it would save; it brings five packages and 0.16 s to every start.
"""

import os
import sys
import tomllib
from argparse import SUPPRESS, ArgumentError, ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn

from headlight.model.errors import ConfigError, nearest

MAIN, SERVER = Path(__file__).parents[1] / "main.py", Path(__file__).parent / "server.py"
FILE = "headlight.toml"
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
GIB_RANGE = (0.0, 4096.0)

Hosts = tuple[str, ...]


@dataclass(frozen=True)
class About:
    """What a setting means, and what it may be: from the first to the second number, or one of these texts."""

    meaning: str
    between: tuple[float, float] | None = None
    one_of: tuple[str, ...] = ()


def _about(meaning: str, **allowed: Any) -> dict[str, About]:
    return {"about": About(meaning, **allowed)}


@dataclass(frozen=True)
class Settings:
    """One setting a field: `run_gib` is the flag --run-gib, the variable HEADLIGHT_RUN_GIB, and run_gib in the file."""

    model: str = field(
        default="mini",
        metadata=_about("the model shown first: from the list, or a folder, a `.safetensors` file, a hub name"),
    )
    models_folder: str = field(
        default="", metadata=_about("a folder: the model folders and `.safetensors` files in it join the list")
    )
    any_model: bool = field(
        default=True, metadata=_about("whether any path or hub name may be typed; never beyond loopback")
    )
    device: str = field(
        default="cpu", metadata=_about("where models run: cpu, or cuda where there is one", one_of=("cpu", "cuda"))
    )
    threads: int = field(
        default=0, metadata=_about("processor threads of a run; 0 leaves them to torch", between=(0, 1024))
    )
    models_gib: float = field(
        default=4.0, metadata=_about("memory for open models, mapped files counted in full", between=GIB_RANGE)
    )
    cache_gib: float = field(default=1.0, metadata=_about("memory for runs that are kept", between=GIB_RANGE))
    run_gib: float = field(default=1.5, metadata=_about("memory that one run may take by estimate", between=GIB_RANGE))
    run_seconds: float = field(
        default=120.0, metadata=_about("seconds that one run may take by estimate", between=(0, 86_400))
    )
    runs_at_once: int = field(default=2, metadata=_about("runs at a time", between=(1, 64)))
    runs_waiting: int = field(
        default=8, metadata=_about("runs that may wait for their turn; the page says busy to more", between=(0, 1000))
    )
    upload_mb: int = field(default=5, metadata=_about("the largest file of prompts taken, in MB", between=(1, 1000)))
    upload_prompts: int = field(
        default=1000, metadata=_about("the most prompts taken from one file", between=(1, 1_000_000))
    )
    address: str = field(
        default="127.0.0.1",
        metadata=_about("where the server listens: loopback is this machine alone, 0.0.0.0 everywhere"),
    )
    port: int = field(default=0, metadata=_about("its port; 0 is the first free one from 8501", between=(0, 65_535)))
    allowed_hosts: Hosts = field(
        default=THIS_MACHINE, metadata=_about("the host names by which browsers may reach it; `*` is any")
    )


FIELDS = {each.name: each for each in fields(Settings)}
KINDS: dict[Any, str] = {
    str: "text",
    bool: "0 or 1 (true or false in the file)",
    int: "a whole number",
    float: "a number",
    Hosts: "host names, separated by commas (a list in the file)",
}


def flag(name: str) -> str:
    """The flag of a setting."""
    return f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"HEADLIGHT_{name.upper()}"


def default_text(each: "Field[Any]") -> str:
    """A setting's default as a flag or variable would give it."""
    if isinstance(each.default, tuple):
        return ",".join(each.default)
    return str(each.default) if isinstance(each.default, str) else f"{each.default:g}"


@cache
def settings() -> Settings:
    """This server's settings, read once."""
    started = Path(sys.argv[0]).absolute() in (MAIN, SERVER)  # then what stands behind it is meant for it
    return read(sys.argv[1:] if started else [], os.environ)


def only_this_machine() -> bool:
    """Whether the server listens on loopback alone."""
    from streamlit import get_option  # here: `headlight` starts without it

    return is_loopback(get_option("server.address") or "")


def is_loopback(address: str) -> bool:
    """Whether nobody but this machine's users reaches an address."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


def read(flags: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """The settings as flags, environment and file give them, the defaults elsewhere.

    The file is the one that --config or HEADLIGHT_CONFIG names, else headlight.toml in the working directory.

    Raises:
        ConfigError: a flag or key that does not exist, or a value that is not allowed; the message says what is.
    """
    by_flag = _from_flags(flags)
    named = by_flag.pop("config", None) or environment.get(variable("config"))
    by_variable = {name: text for name in FIELDS if (text := environment.get(variable(name)))}
    chosen = _from_file(named) | _parsed(by_variable, variable) | _parsed(by_flag, flag)
    return _agreeing(Settings(**chosen))


def parser() -> ArgumentParser:
    """The flags, with what `--help` says of each."""
    made = ArgumentParser(
        prog="headlight",
        description="Serve Headlight's page.",
        epilog=f"Each is also an environment variable ({variable('run_gib')}) and a line of {FILE} (run_gib = 1.5); "
        "a flag wins over a variable, a variable over the file.",
        argument_default=SUPPRESS,
        allow_abbrev=False,
        exit_on_error=False,
    )
    made.add_argument("--config", help=f"the file with settings (default: {FILE}, if there is one)")
    for each in FIELDS.values():
        about: About = each.metadata["about"]
        made.add_argument(flag(each.name), help=f"{about.meaning} (default: {default_text(each) or 'none'})")
    return made


def _from_flags(flags: Sequence[str]) -> dict[str, str]:
    try:
        found, rest = parser().parse_known_args(list(flags))
    except ArgumentError as error:
        raise ConfigError(f"{error.argument_name}: {error.message}. See headlight --help.") from None
    if rest:
        known = map(flag, ("config", *FIELDS))
        raise ConfigError(f"There is no flag {rest[0]!r}.{nearest(rest[0], known)} See headlight --help.")
    return vars(found)


def _from_file(named: str | None) -> dict[str, Any]:
    path = Path(named or FILE).expanduser()
    if not named and not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The settings in {path.name} cannot be read ({error}). Mend it, or name another.") from None
    for name in content:
        if name not in FIELDS:
            raise ConfigError(
                f"{path.name} has no setting {name!r}.{nearest(name, FIELDS)} There are {', '.join(FIELDS)}."
            )
    return {
        name: _checked(FIELDS[name], _of_its_kind, value, f"{name} in {path.name}") for name, value in content.items()
    }


def _parsed(texts: Mapping[str, str], called: Callable[[str], str]) -> dict[str, Any]:
    return {name: _checked(FIELDS[name], _of_text, text, called(name)) for name, text in texts.items()}


def _checked(each: "Field[Any]", convert: Callable[[Any, Any], Any], given: object, called: str) -> Any:
    about: About = each.metadata["about"]
    try:
        value = convert(each.type, given)
    except ValueError:
        _refuse(each, given, called)
    low, high = about.between or (None, None)
    if (low is not None and not low <= value <= high) or (about.one_of and value not in about.one_of):
        _refuse(each, given, called)
    return value


def _refuse(each: "Field[Any]", given: object, called: str) -> NoReturn:
    about: About = each.metadata["about"]
    needed = KINDS[each.type]
    if about.between:
        needed += f" from {about.between[0]:,g} to {about.between[1]:,.10g}"
    if about.one_of:
        needed = " or ".join(about.one_of)
    raise ConfigError(
        f"{called} is {given!r}; it has to be {needed}. Give that, or leave it out for {default_text(each) or 'none'}."
    )


def _of_text(kind: Any, text: str) -> object:
    if kind is bool:
        return bool(("0", "1").index(text))
    if kind in (int, float):
        return kind(text)
    return text if kind is str else tuple(host for part in text.split(",") if (host := part.strip()))


def _of_its_kind(kind: Any, value: object) -> object:
    if kind is float and type(value) is int:
        return float(value)
    if kind in (str, bool, int, float):
        if type(value) is kind:
            return value
    elif isinstance(value, list) and all(isinstance(host, str) for host in value):
        return tuple(value)
    raise ValueError(value)


def _agreeing(chosen: Settings) -> Settings:
    """The settings that were given, if they go together and name what is there."""
    if chosen.models_folder and not Path(chosen.models_folder).expanduser().is_dir():
        raise ConfigError(
            f"models_folder is {chosen.models_folder!r}, which is no folder. Create it, or give one that is there."
        )
    if not is_loopback(chosen.address) and chosen.allowed_hosts == THIS_MACHINE:
        raise ConfigError(
            f"address {chosen.address} lets other machines in, but allowed_hosts names this one alone. Give the names "
            "by which they reach it, as --allowed-hosts headlight.example, or * for any."
        )
    return chosen
