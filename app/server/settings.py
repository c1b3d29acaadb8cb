"""Settings of the server: by flag, environment variable or file, in that order.

Not pydantic-settings, which was tried: of a wrong value it does not say under which flag, variable or line it was
given, of a wrong name not the nearest one, and it takes `threads = true`, `threads = "3"` and `--any-model yes`. What
would mend that is about as long as the parsing that it would save; it brings five packages and 0.16 s to every start.
"""

import os
import re
import sys
import tomllib
from argparse import ArgumentError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, replace
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn

from headlight.app.server.flags import (
    FIELDS,
    FILE,
    KINDS,
    THIS_MACHINE,
    About,
    Settings,
    default_text,
    flag,
    parser,
    variable,
)
from headlight.model.base.errors import ConfigError, nearest

SITE = re.compile(r"https?://(\*\.)?[\w.-]+(:\d+)?", re.ASCII)
MAIN, SERVER = Path(__file__).parents[1] / "main.py", Path(__file__).parent / "server.py"


@cache
def settings() -> Settings:
    """This process's settings, read once: of several that serve each has its share of what is for all."""
    started = Path(sys.argv[0]).absolute() in (MAIN, SERVER)  # then what stands behind it is meant for it
    return share(read(sys.argv[1:] if started else [], os.environ))


def share(chosen: Settings) -> Settings:
    """One worker's share of the settings that are for the server as a whole."""

    def part(number: int) -> int:
        return -(-number // chosen.workers)

    return replace(
        chosen,
        models_gib=chosen.models_gib / chosen.workers,
        cache_gib=chosen.cache_gib / chosen.workers,
        runs_at_once=part(chosen.runs_at_once),
        runs_waiting=part(chosen.runs_waiting),
        sessions=part(chosen.sessions),
    )


def only_this_machine() -> bool:
    """Return whether the server is for this machine's users alone: it listens on loopback, under loopback's names.

    One that is reached under another name stands behind a reverse proxy, which brings anybody's requests to loopback.
    """
    from streamlit import get_option  # here: `headlight` starts without it

    hosts = get_option("server.allowedHosts")  # no host at all is any
    return bool(hosts) and all(map(is_loopback, (get_option("server.address") or "", *hosts)))


def trusted_proxies() -> str:
    """The addresses of proxies that may tell whose a request is, as uvicorn has them."""
    return os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")


def is_loopback(address: str) -> bool:
    """Whether only this machine's users can reach an address."""
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


def _from_flags(flags: Sequence[str]) -> dict[str, str]:
    try:
        namespace, rest = parser().parse_known_args(list(flags))
    except ArgumentError as error:
        raise ConfigError(f"{error.argument_name}: {error.message}. See headlight --help.") from None
    if rest:
        known = map(flag, ("config", *FIELDS))
        raise ConfigError(f"There is no flag {rest[0]!r}.{nearest(rest[0], known)} See headlight --help.")
    return vars(namespace)


def _from_file(named: str | None) -> dict[str, Any]:
    path = Path(named or FILE).expanduser()
    if not named and not path.is_file():
        return {}
    if path.exists() and not path.is_file():  # a pipe would be waited for without end
        raise ConfigError(f"{path.name} is not a file that can be read. Put the file itself in its place.")
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


def _checked(each: "Field[Any]", convert: Callable[[Any, Any], Any], raw: object, called: str) -> Any:
    about: About = each.metadata["about"]
    try:
        value = convert(each.type, raw)
    except ValueError:
        _refuse(each, raw, called)
    low, high = about.between or (None, None)
    if (low is not None and not low <= value <= high) or (about.one_of and value not in about.one_of):
        _refuse(each, raw, called)
    return value


def _refuse(each: "Field[Any]", raw: object, called: str) -> NoReturn:
    about: About = each.metadata["about"]
    needed = KINDS[each.type]
    if about.between:
        needed += f" from {about.between[0]:,g} to {about.between[1]:,.10g}"
    if about.one_of:
        needed = " or ".join(about.one_of)
    raise ConfigError(
        f"{called} is {raw!r}; it has to be {needed}. Give that, or leave it out for {default_text(each) or 'none'}."
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
    """The settings, if they are consistent and refer to existing files."""
    if chosen.workers > 1 and sys.platform == "win32":
        raise ConfigError(f"workers is {chosen.workers}; on Windows there can be one alone. Leave it out.")
    if chosen.models_folder and not os.path.isdir(Path(chosen.models_folder).expanduser()):
        raise ConfigError(
            f"models_folder is {chosen.models_folder!r}, which is no folder. Create it, or give one that is there."
        )
    for site in chosen.frame_ancestors:
        if not SITE.fullmatch(site):
            raise ConfigError(f"frame_ancestors has {site!r}, which is no site. Give each as https://a.example.")
    if not is_loopback(chosen.address) and chosen.allowed_hosts == THIS_MACHINE:
        raise ConfigError(
            f"address {chosen.address} lets other machines in, but allowed_hosts names this one alone. Give the names "
            "by which they reach it, as --allowed-hosts headlight.example, or * for any."
        )
    return chosen
