"""What several pages have in common."""

from app import components, selection
from app.glossary import TERMS
from app.selection.chosen import Head


def heading(text: str, *terms: str, caption: str = "", key: str = "") -> None:
    """A heading with the glossary's entries for its terms behind a question mark, and a line under it.

    One that changes has a key.
    """
    help = " ".join(TERMS[term] for term in terms)
    components.heading(text, help, caption, key=selection.widget_key(f"heading.{key or text}"))


def name(head: Head) -> str:
    """What a head is called, layer and head counted from 0: L2H1."""
    return f"L{head[0]}H{head[1]}"
