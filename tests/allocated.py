"""How many bytes of tensors there are at once during some work, by torch's own account."""

from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile


def peak_bytes(work: Callable[[], object]) -> int:
    """The most bytes that tensors made during the work have at any time; those made before it do not count."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        result = work()  # which is there until the profile ends
    events = profiled.profiler.kineto_results.events()  # type: ignore[union-attr]
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    del result
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
