"""Seconds that owners, such as browser sessions, have used lately, by which their turns come."""

from collections.abc import Hashable

HALF_LIFE = 30.0  # seconds after which half of an owner's use is forgotten


class RecentUse:
    """Seconds that each owner has used; who asks brings the time."""

    def __init__(self) -> None:
        self._used = dict[Hashable, tuple[float, float]]()  # seconds, and when they were counted

    def add(self, owner: Hashable, seconds: float, now: float) -> None:
        """Count seconds that an owner has used."""
        self._used[owner] = seconds + self.seconds(owner, now), now
        self._used = {owner: used for owner, used in self._used.items() if now - used[1] < 10 * HALF_LIFE}

    def seconds(self, owner: Hashable, now: float) -> float:
        """What is left of an owner's seconds."""
        seconds, counted = self._used.get(owner, (0.0, now))
        return seconds * 0.5 ** ((now - counted) / HALF_LIFE)

    def active(self, now: float) -> set[Hashable]:
        """Owners who have used any within a half-life."""
        return {owner for owner, (_, counted) in self._used.items() if now - counted < HALF_LIFE}
