"""Where the tests find what they are about."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
MAIN = ROOT / "app" / "main.py"
DOCS = ROOT / "docs"
MINI = ROOT / "assets" / "models" / "mini"
STREAMLIT_CONFIG = ROOT / "app" / "server" / ".streamlit" / "config.toml"
