"""Headlight's server with another script than its own: `python -m tests.bench.swapped`, with Headlight's flags."""

from pathlib import Path

from headlight.app import __main__
from headlight.app.server import settings

settings.MAIN = Path(__file__).parent / "swapped_page.py"
__main__.main()
