"""Settings, with their flags and environment variables; `--help` imports neither torch nor Streamlit."""

from argparse import SUPPRESS, ArgumentParser
from dataclasses import Field, dataclass, field, fields
from typing import Any

from headlight import __version__

FILE = "headlight.toml"
EVERYWHERE = ("0.0.0.0", "::")
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
HEALTH = "healthz"  # the address at which the server says that it is ready
GIB_RANGE = (0.0, 4096.0)


@dataclass(frozen=True)
class About:
    """Description of a setting and its range: from the first to the second number, or one of these texts."""

    meaning: str
    between: tuple[float, float] | None = None
    one_of: tuple[str, ...] = ()


def _set(default: Any, meaning: str, **allowed: Any) -> Any:
    """Field with its default, its description, and its range."""
    return field(default=default, metadata={"about": About(meaning, **allowed)})


@dataclass(frozen=True)
class Settings:
    """One setting a field: `run_gib` is the flag --run-gib, the variable HEADLIGHT_RUN_GIB, and run_gib in the file."""

    model: str = _set("mini", "the model shown first: from the list, or a folder, a `.safetensors` file, a hub name")
    models_folder: str = _set("", "a folder: the model folders, `.safetensors` and `.gguf` files in it join the list")
    any_model: bool = _set(
        True, "whether any path or hub name may be typed; never beyond loopback, nor under another host name"
    )
    device: str = _set("cpu", "where models run: cpu, or cuda where there is one", one_of=("cpu", "cuda"))
    dtype: str = _set(
        "stored",
        "what matrices are kept in: as files hold them, float32, or bfloat16; the arithmetic is float32's",
        one_of=("stored", "float32", "bfloat16"),
    )
    threads: int = _set(0, "processor threads of a run; 0 shares torch's among those under way", between=(0, 1024))
    workers: int = _set(
        1, "processes that serve: each has its share of threads, runs, sessions and memory", between=(1, 64)
    )
    models_gib: float = _set(4.0, "memory for open models, mapped files counted in full", between=GIB_RANGE)
    cache_gib: float = _set(
        1.0, "memory for runs that are kept; the two that a page compares may take more", between=GIB_RANGE
    )
    run_gib: float = _set(1.5, "memory that one run may take by estimate", between=GIB_RANGE)
    run_seconds: float = _set(120.0, "seconds that one run may take by estimate", between=(0, 86_400))
    runs_at_once: int = _set(2, "runs at a time", between=(1, 64))
    runs_waiting: int = _set(
        1000, "runs that may wait in line for their turn; the page says busy to more", between=(0, 100_000)
    )
    sessions: int = _set(
        500,
        "browser tabs connected at a time, or fewer where the system allows fewer open files; more are told so",
        between=(1, 100_000),
    )
    sessions_of_address: int = _set(
        0,
        "how many of these one address may have, but for this machine's own; 0 is a quarter",
        between=(0, 100_000),
    )
    runs_per_minute: int = _set(
        0, "runs that one other machine's address may start in a minute; 0 is any", between=(0, 100_000)
    )
    uploads_per_minute: int = _set(
        0,
        "files that one other machine's address may upload in a minute; 0 is any",
        between=(0, 100_000),
    )
    upload_mb: int = _set(5, "the largest file of prompts taken, in MB", between=(1, 1000))
    upload_prompts: int = _set(1000, "the most prompts taken from one file", between=(1, 1_000_000))
    address: str = _set("127.0.0.1", "where the server listens: loopback is this machine alone, 0.0.0.0 everywhere")
    port: int = _set(0, "its port; 0 is the first free one from 8501", between=(0, 65_535))
    allowed_hosts: tuple[str, ...] = _set(THIS_MACHINE, "the host names by which browsers may reach it; `*` is any")
    frame_ancestors: tuple[str, ...] = _set(
        (), "the sites whose pages may show it in a frame, as https://huggingface.co"
    )
    require_token: str = _set("", "a text without which nobody gets in: the link ends with ?token= and it")
    user_header: str = _set("", "a header with which a proxy names its user; requests without it are refused")
    open_metrics: bool = _set(False, "whether machines other than this one may read /metrics")


FIELDS = {each.name: each for each in fields(Settings)}
KINDS: dict[Any, str] = {
    str: "text",
    bool: "0 or 1 (true or false in the file)",
    int: "a whole number",
    float: "a number",
    tuple[str, ...]: "names, separated by commas (a list in the file)",
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


def parser() -> ArgumentParser:
    """The flags, with their help."""
    made = ArgumentParser(
        prog="headlight",
        description="Serve Headlight's page.",
        epilog=f"Each is also an environment variable ({variable('run_gib')}) and a line of {FILE} (run_gib = 1.5); "
        "a flag wins over a variable, a variable over the file.",
        argument_default=SUPPRESS,
        allow_abbrev=False,
        exit_on_error=False,
    )
    made.add_argument(
        "--version", action="version", version=f"headlight {__version__}", help="print the version and exit"
    )
    made.add_argument("--config", help=f"the file with settings (default: {FILE}, if there is one)")
    for each in FIELDS.values():
        about: About = each.metadata["about"]
        made.add_argument(flag(each.name), help=f"{about.meaning} (default: {default_text(each) or 'none'})")
    return made
