"""What holds for every test: shapes are checked, results do not depend on the machine, nothing leaves it."""

import socket

import pytest
import torch
from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("model", "beartype.beartype")  # before anything imports model: its shape annotations become checks
torch.set_num_threads(1)  # the order of sums, and so their last bits, is the same wherever tests run
settings.register_profile("headlight", deadline=None)  # a slow machine is no failure
settings.load_profile("headlight")

LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def _nothing_leaves_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would reach another machine fails, with the address in the message."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: tuple[str, int]) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not address[0].startswith(LOOPBACK):
            pytest.fail(f"a test opened a connection to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
