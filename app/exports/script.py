"""The scripts: an import, a load, the prompts' runs, and one call of the library that gives a page's tables.

What was chosen on the page enters a script as a Python literal, so that no prompt can become code.
"""

import ast
from collections.abc import Sequence, Set
from dataclasses import is_dataclass

from headlight.app.runs import dictionaries, directions, models
from headlight.model.measure.alignment import Align
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import EditDirection, EditFeature
from headlight.model.runs.run import Run
from headlight.model.text.conversation import Conversation, is_conversation_prompt

WIDTH = 100  # of a line; longer calls have a line for each argument
HOW = "The numbers of Headlight's page, without the page. Runs from any folder, with the Python that has Headlight."


class Expression(str):
    """Source text that is put into a script as it is, where any other value is put as its literal."""

    def __repr__(self) -> str:
        return str(self)


def report(
    purpose: str, comparison: Comparison, align: Align, tables: str, dictionary: str = "", /, **options: object
) -> str:
    """Script that prints the tables of a function of `headlight.model` for the runs.

    `options` are the function's, as in `printing`; a `dictionary`, by its name on the page, is opened for it.
    """
    names, lines = names_of(comparison), runs_made(comparison, align)
    if dictionary:
        names.add("open_dictionary")
        lines.append(f"opened = {opening(dictionary, 'model')}")
        options["opened"] = Expression("opened")
    return printing(purpose, names, lines, tables, "comparison", **options)


def printing(
    purpose: str, names: Set[str], lines: Sequence[str], tables: str, *expressions: str, **options: object
) -> str:
    """Script that prints the tables of a function for the objects that its lines make.

    Args:
        purpose: what the script is for.
        names: what the lines need of `headlight.model`.
        lines: they compute the function's arguments.
        tables: the function of `headlight.model`.
        expressions: code of the function's arguments.
        options: what was chosen on the page: each a literal, a dataclass of literals, or an expression.
    """
    values = {type(value).__name__ for value in options.values() if is_dataclass(value)}
    printed = f"print_tables({call(tables, *expressions, **options)})"
    return written(purpose, {*names, "print_tables", tables, *values}, [*lines, printed])


def names_of(comparison: Comparison) -> set[str]:
    """Names of `headlight.model` that `runs_made` needs."""
    edits = {type(edit).__name__ for run in comparison.runs for edit in run.edits}
    opening = {EditFeature.__name__: "open_dictionary", EditDirection.__name__: "open_direction"}
    opened = {function for kind, function in opening.items() if kind in edits}
    turns = {"Conversation"} if any(_conversation(run) for run in comparison.runs) else set[str]()
    return {"load", "run_prompt", "Comparison" if comparison.b is None else "compare"} | edits | opened | turns


def written(purpose: str, names: Set[str], lines: Sequence[str]) -> str:
    """Script: its purpose, its imports of `headlight.model`, and its lines."""
    imported = f"from headlight.model import {', '.join(sorted(names))}"
    return "\n".join([_docstring(f"{purpose}\n\n{HOW}\n"), "", imported, "", *lines, ""])


def _docstring(text: str) -> str:
    """A text as a module's docstring, of which no character, quotes and line ends included, becomes code."""
    return ast.unparse(ast.Module([ast.Expr(ast.Constant(text))], []))


def runs_made(comparison: Comparison, align: Align) -> list[str]:
    """Lines that load the models, run the prompts and lay them side by side as `comparison`."""
    lines = [f"model = {loading(comparison.a)}", f"a = {_run(comparison.a, 'model')}"]
    if comparison.b is None:
        return [*lines, "comparison = Comparison(a)"]
    same = comparison.b.same_model(comparison.a)
    of_b = [] if same else [f"model_b = {loading(comparison.b)}"]
    return [
        *lines,
        *of_b,
        f"b = {_run(comparison.b, 'model' if same else 'model_b')}",
        f"comparison = compare(a, b, {align!r})",
    ]


def _run(run: Run, model: str) -> str:
    rows = "".join(f"        {edit!r},\n" for edit in run.edits)
    edits = {"edits": Expression(f"(\n{rows}    )")} if rows else {}
    for argument, kind, open_one in (
        ("dictionaries", Dictionaries, opening),
        ("directions", Direction, opening_direction),
    ):
        if names := [name for name, value in run.tap.opened.items() if isinstance(value, kind)]:
            edits[argument] = Expression(f"{{{', '.join(f'{name!r}: {open_one(name, model)}' for name in names)}}}")
    return call("run_prompt", model, _conversation(run) or repr(run.prompt), prepend_bos=run.bos, **edits)


def _conversation(run: Run) -> str:
    """An expression of a prompt that is several turns, which one can read; empty for any other prompt."""
    if run.bos != "chat" or not is_conversation_prompt(run.prompt):
        return ""
    conversation = Conversation.from_prompt(run.prompt)
    turns = "".join(f"            {message!r},\n" for message in conversation.messages)
    default = Conversation(conversation.messages).settings
    settings = {name: value for name, value in conversation.settings.items() if default.get(name) != value}
    named = "".join(f"        {name}={value!r},\n" for name, value in settings.items())
    return f"Conversation(\n        (\n{turns}        ),\n{named}    ).to_prompt()"


def call(function: str, *expressions: str, **named: object) -> str:
    """A call of a function with expressions and, by their names, values: a line for each where one is too short."""
    arguments = [*expressions, *(f"{name}={value!r}" for name, value in named.items())]
    one_line = f"{function}({', '.join(arguments)})"
    fits = len(one_line) <= WIDTH and "\n" not in one_line
    return one_line if fits else "\n    ".join([f"{function}(", *(f"{a}," for a in arguments)]) + "\n)"


def loading(run: Run) -> str:
    """An expression that opens a run's model, at the commit that was used where it has one."""
    revision = f", {run.source.revision!r}" if run.source.revision else ""
    return f"load({models.opened_by(run.source)!r}{revision})"


def opening(dictionary: str, *model: str) -> str:
    """An expression that opens a dictionary by its name on the page, with a model as it fits that."""
    return call("open_dictionary", repr(dictionaries.told_by(dictionary)), *model)


def opening_direction(identity: str, *model: str) -> str:
    """An expression that opens a direction: its kept file, or the one that the page *Directions* writes."""
    return call("open_direction", repr(directions.told_by(identity)), *model)
