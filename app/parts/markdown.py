"""Escape names and messages for Streamlit's Markdown, which would read links, pictures and formulas in them."""

import re

SIGNS = re.compile(r"[\\`*\[\]<>&$~]|(?<![^\W_])_|_(?![^\W_])|^[-+#=]")  # not _ between letters
# Markup that remains once signs are escaped: names of emojis, icons and colours, addresses of pages and mail, and a
# number that would begin a list. An invisible character inside breaks it.
NAMES = re.compile(r":(?=\S)|@|(?<=www)(?=\.)|^\d+(?=[.)]\s)", re.IGNORECASE)
UNSEEN = "\u2060"  # the word joiner


def plain(text: str) -> str:
    """A text, in one line, that Markdown shows as it stands."""
    line = " ".join(text.split())
    return NAMES.sub(rf"\g<0>{UNSEEN}", SIGNS.sub(r"\\\g<0>", line))
