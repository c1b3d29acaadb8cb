"""How the process keeps its memory."""

import gc

from headlight.app.server import memory


def test_what_is_freed_is_collected_once_the_page_is_drawn() -> None:
    """The server starts without the collector, and would else keep every cycle for as long as it runs."""
    gc.disable()
    try:
        memory.spare_modules()
        assert gc.isenabled()
    finally:
        gc.enable()
