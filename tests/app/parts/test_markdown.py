"""Names and messages in Markdown: shown as they stand, and handed to Streamlit in no other way."""

import ast
import html
from collections.abc import Iterator

import pytest
from markdown_it import MarkdownIt

from headlight.app.parts.markdown import UNSEEN, plain
from tests.places import ROOT

# Of Streamlit: what reads its first argument, or the named ones, as Markdown.
MARKDOWN = {
    "caption",
    "info",
    "warning",
    "error",
    "success",
    "markdown",
    "toast",
    "write",
    "header",
    "subheader",
    "title",
}
MARKDOWN |= {"expander", "popover", "button", "download_button", "link_button", "checkbox", "toggle", "radio", "tabs"}
MARKDOWN |= {
    "selectbox",
    "multiselect",
    "text_input",
    "text_area",
    "number_input",
    "slider",
    "file_uploader",
    "spinner",
}
MARKDOWN |= {"status", "metric", "badge", "pills", "segmented_control", "page_link", "feedback", "dialog"}
OF_PLACES = {"caption", "progress", "toast", "markdown"}  # of a place that was kept too
NAMED = {"help", "label", "text", "body"}
EXEMPT = {"app/frame/hint.py"}  # a line of the project's own, in Markdown: `trust.in_a_line`

HOSTILE = [
    "![x](http://127.0.0.1:9/p.png)",
    "[x](http://127.0.0.1:9/)",
    "<img src=http://127.0.0.1:9/p.png>",
    "<http://127.0.0.1:9/>",
    "*a* _b_ **c** __d__ ~~e~~ `f` ``g``",
    "$x^2$ $$y$$",
    "\\![x](y) \\",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "> quotation",
    "===",
    "&amp; &lt;b&gt; &#42;",
    "[a]: http://127.0.0.1:9/p.png",
    "a\n\n# b\n\n    code\n\n| a | b |\n|---|---|\n| c | d |",
    "```\ncode\n```",
    "models/gpt2_small-v1.5 (copy) {x} | y! C:\\models",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_shown_as_it_stands(text: str) -> None:
    """By a parser of CommonMark, with tables and strikethrough."""
    rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(f"{plain(text)}")
    expected = " ".join(text.split())
    assert html.unescape(rendered).replace(UNSEEN, "") == f"<p>{expected}</p>\n"
    behind = MarkdownIt("commonmark").render(f"Measured on {plain(text)}.")
    assert html.unescape(behind).replace(UNSEEN, "") == f"<p>Measured on {expected}.</p>\n"


@pytest.mark.parametrize(
    "text", [":material/close:", ":smile:", ":red[x]", "http://a.example", "www.a.example", "a@b.c"]
)
def test_what_is_found_in_text_that_was_read_is_found_no_more(text: str) -> None:
    """Streamlit looks for these after Markdown was read, so that no backslash keeps it from them."""
    markdown = plain(text).replace("\\", "")
    assert text not in markdown
    assert markdown.replace(UNSEEN, "") == text


def test_a_usual_name_stays_as_it_is() -> None:
    for text in (
        "mini",
        "model_b",
        "Measured on 10 random repeats (of 25 tokens): L1H0.",
        "EleutherAI/pythia-70m, 5 > x",
    ):
        assert plain(text).replace("\\>", ">") == text


def is_plain(node: ast.expr) -> bool:
    """Whether an expression holds literals, constants of a module, formatted numbers and calls of `plain` alone."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.FormattedValue(value=value, format_spec=spec):
            return spec is not None or is_plain(value)
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(is_plain, parts))
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return is_plain(one) and is_plain(other)
        case ast.Subscript(value=value):
            return is_plain(value)
        case ast.Call(func=ast.Attribute(value=value, attr="format"), args=args, keywords=keywords):
            return all(map(is_plain, [value, *args, *(each.value for each in keywords)]))
        case ast.Call(func=ast.Name(id=name)):
            return name == "plain"
    return False


def read_as_markdown(tree: ast.AST) -> Iterator[ast.expr]:
    """What a file hands to Streamlit as Markdown."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, name = ast.unparse(node.func.value), node.func.attr
            if reads := (owner == "st" and name in MARKDOWN) or name in OF_PLACES:
                yield from node.args[1:2] if name == "progress" else node.args[:1]
            if reads or owner == "st.column_config":
                yield from (each.value for each in node.keywords if each.arg in NAMED)


def test_nothing_else_is_read_as_markdown() -> None:
    calls = [
        f"{path.relative_to(ROOT)}:{text.lineno}: {ast.unparse(text)}"
        for path in sorted((ROOT / "app").rglob("*.py"))
        for text in read_as_markdown(ast.parse(path.read_text(encoding="utf-8")))
        if not is_plain(text)
    ]
    assert [each for each in calls if each.partition(":")[0] not in EXEMPT] == []


@pytest.mark.parametrize(
    "call", ["st.caption(name)", "st.info(f'{name}')", "st.button('x', help=name)", "a.caption(b)"]
)
def test_the_rule_sees_what_it_is_for(call: str) -> None:
    assert not all(map(is_plain, read_as_markdown(ast.parse(call))))
