"""Commands that a page or a message gives to be typed into a shell."""

import shlex


def make(target: str, *arguments: str, **named: str) -> str:
    """A `make` command that a shell runs as it stands, whatever the names in it hold; `arguments` go to the program."""
    named |= {"ARGS": shlex.join(arguments)} if arguments else {}
    return shlex.join(["make", target, *(f"{name}={value}" for name, value in named.items())])
