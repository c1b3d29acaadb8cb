"""Who is on this machine, by the address and by what proxies say."""

from types import SimpleNamespace

import pytest

from headlight.app.runs import models, visitors


@pytest.mark.parametrize(
    ("address", "headers", "elsewhere"),
    [
        (None, {}, False),
        (None, {"X-Forwarded-For": "127.0.0.1"}, False),
        (None, {"X-Forwarded-For": "::1, 127.0.0.1", "X-Real-IP": "127.0.0.1"}, False),
        ("192.0.2.1", {}, True),
        (None, {"X-Forwarded-For": "192.0.2.1"}, True),
        (None, {"X-Forwarded-For": "127.0.0.1, 192.0.2.1"}, True),
        (None, {"X-Forwarded-For": "unknown"}, True),
        (None, {"X-Real-IP": "192.0.2.1"}, True),
        (None, {"Forwarded": "for=192.0.2.1"}, True),
        (None, {"Via": "1.1 proxy"}, True),
    ],
)
def test_who_is_elsewhere_opens_only_what_is_offered(
    address: str | None, headers: dict[str, str], elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the proxy hides its own name from the server, which it reaches as localhost."""
    context = SimpleNamespace(headers=headers, ip_address=address)
    monkeypatch.setattr(visitors, "st", SimpleNamespace(context=context))
    monkeypatch.setattr(visitors, "get_script_run_ctx", lambda suppress_warning: object())
    monkeypatch.setattr(models, "only_this_machine", lambda: True)
    assert visitors.is_elsewhere() == elsewhere
    assert models.any_model_allowed() == (not elsewhere)
