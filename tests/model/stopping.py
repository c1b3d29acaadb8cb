"""A host that stops what it hosts."""

from headlight.model.runs.host import Host


class Stopping(Host):
    """A host that stops a computation at its so many-th look; `left` is zero from then on."""

    def __init__(self, at: int) -> None:
        self.left = at

    def check(self) -> None:
        self.left -= 1
        if not self.left:
            raise InterruptedError
