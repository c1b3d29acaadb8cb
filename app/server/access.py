"""Who may use the server, where a setting says so: whoever has the token, or whom a proxy has let in by name."""

import hmac
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from headlight.app.server.flags import HEALTH
from headlight.app.server.protection import STREAMLIT_HEALTH
from headlight.app.server.settings import is_loopback, settings, trusted_proxies

PARAMETER, COOKIE = "token", "headlight_access"
DAYS = 30
NO_TOKEN = "This server asks for a token. Open it by the link with ?token= that you were given."
NO_USER = "This server answers whom its proxy has let in. Open it by the proxy's address, and log in there."
NO_PROXY = (
    "This server believes the user's name only of a proxy on its own machine, or at an address in FORWARDED_ALLOW_IPS. "
    "Open it by the proxy's address."
)
BY_PROXY = "headlight.by_proxy"  # the name under which a request's scope has whether it may tell whose it is
NEW = {"Cache-Control": "no-store"}


class Forwarded(ProxyHeadersMiddleware):
    """uvicorn's, by which a request is from whom a trusted proxy says; it notes whether it came by one, too.

    Afterwards nothing tells: the visitor's address has taken the place of the proxy's.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app, trusted_proxies())  # type: ignore[arg-type]  # of types of its own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        """Note, and hand on."""
        peer = str((scope.get("client") or ("",))[0])
        scope[BY_PROXY] = is_loopback(peer) or peer in self.trusted_hosts
        await super().__call__(scope, receive, send)  # type: ignore[arg-type]


class Access:
    """ASGI middleware that answers 401 to who has neither token nor name, where one is required.

    The token comes in the page's address, `?token=`, and stays in a cookie; programs send it as a bearer token. Health
    addresses are open to all.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, or refuse."""
        is_health = scope["type"] == "http" and scope["path"].endswith((HEALTH, STREAMLIT_HEALTH))
        is_open = is_health or scope["type"] not in ("http", "websocket")
        answer = None if is_open else _answer_instead(scope)
        if answer is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(answer)
        else:
            await answer(scope, receive, send)


def _answer_instead(scope: Scope) -> Response | None:
    """The refusal of a request, or the cookie for a token in its address; None for one that is welcome."""
    headers, token = Headers(scope=scope), settings().require_token
    if (name := settings().user_header) and not headers.get(name, "").strip():
        return PlainTextResponse(NO_USER, 401, NEW)
    if name and not scope[BY_PROXY]:
        return PlainTextResponse(NO_PROXY, 401, NEW)
    if not token:
        return None
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if scope["type"] == "http" and any(_same(value, token) for key, value in query if key == PARAMETER):
        return _welcome(token, [(key, value) for key, value in query if key != PARAMETER], scope["scheme"] == "https")
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    if _same(bearer, token) or _same(_cookie(headers.get("cookie", "")), _digest(token)):
        return None
    return PlainTextResponse(NO_TOKEN, 401, NEW | {"WWW-Authenticate": "Bearer"})


def _welcome(token: str, rest: list[tuple[str, str]], is_secure: bool) -> Response:
    """Lead to the same address without the token, which stays in a cookie."""
    answer = RedirectResponse(f"?{urlencode(rest)}", 303, NEW)
    # Lax, not strict: the link may stand on another site, as a course's page.
    lifetime = DAYS * 86_400
    answer.set_cookie(COOKIE, _digest(token), max_age=lifetime, httponly=True, samesite="lax", secure=is_secure)
    return answer


def _cookie(header: str) -> str:
    try:
        cookies = SimpleCookie(header)
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def _digest(token: str) -> str:
    return sha256(f"headlight {token}".encode()).hexdigest()


def _same(text: str, secret: str) -> bool:
    """Whether two texts are equal, in a time that does not tell how far they agree."""
    return hmac.compare_digest(text.encode(), secret.encode())
