"""How many random examples a test draws that wants another number than most."""

from hypothesis import settings


def examples(count: int) -> int:
    """So many in `make test-all`, and in `make test` no more than every test draws."""
    return count if settings.get_current_profile_name() == "all" else min(count, settings().max_examples)
