"""The manual, as `make docs` has built it: served beside the page, so that it can be read without a network."""

from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from headlight.app.server.protection import policies

SITE = Path(__file__).parents[2] / "site"
ADDRESS = "/manual"


class Manual(StaticFiles):
    """The files of a built manual, whose pages may run the scripts that are written in them."""

    def __init__(self, site: Path) -> None:
        super().__init__(directory=site, html=True)
        self.policies = policies(*sorted(site.rglob("*.html")))

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file, or with the page that says that there is none, under the manual's own policies."""
        response = await super().get_response(path, scope)
        response.headers.update(self.policies)
        return response


def routes(site: Path = SITE) -> list[Mount]:
    """Return the manual's place on the server; none if it has not been built."""
    return [Mount(ADDRESS, Manual(site))] if (site / "index.html").is_file() else []


def menu_item(page: str | None, site: Path = SITE) -> dict[Any, str]:
    """Return the entry of the page's menu that opens the manual; none if it has not been built.

    Streamlit takes whole addresses alone, which only the browser knows.
    """
    if not page or not (site / "index.html").is_file():
        return {}
    return {"Get help": f"{page.rstrip('/')}{ADDRESS}/"}
