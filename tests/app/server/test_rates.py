"""How often one address may do something within a minute."""

import pytest

from headlight.app.server.rates import RateLimit, network_of


def test_an_address_has_so_many_a_minute_and_leaves_those_of_others() -> None:
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    assert [limit.seconds_until_free("192.0.2.1") for _ in range(3)] == [0, 0, 60]
    assert limit.seconds_until_free("192.0.2.2") == 0
    now[0] = 59.5
    assert limit.seconds_until_free("192.0.2.1") == 1
    now[0] = 60.0
    assert limit.seconds_until_free("192.0.2.1") == 0
    now[0] = 1000.0
    assert limit.seconds_until_free("192.0.2.9") == 0
    assert list(limit._used) == ["192.0.2.9"]  # nothing is kept of who has left


def test_without_a_limit_and_on_this_machine_nothing_is_refused() -> None:
    for limit, address in ((RateLimit(0), "192.0.2.1"), (RateLimit(1), ""), (RateLimit(1), "127.0.0.1")):
        assert not any(limit.seconds_until_free(address) for _ in range(100))


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("::1", "::1"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_an_ipv6_address_is_counted_as_its_network(host: str, network: str) -> None:
    assert network_of(host) == network
