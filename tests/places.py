"""Where the tests find what they are about."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAIN = ROOT / "app" / "main.py"
DOCS = ROOT / "docs"
MINI = ROOT / "assets" / "models" / "mini"
REAL = ROOT / ".venv" / "real"  # packages that bring real models, as `make test-all` installs them
STREAMLIT_CONFIG = ROOT / "app" / "server" / ".streamlit" / "config.toml"


def shown_pictures() -> set[str]:
    """The names of the pictures that README.md and the manual show."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *DOCS.rglob("*.md")))
    return {name for text in texts for name in re.findall(r"screenshots/([\w-]+)\.png", text)}
