"""Who waits for a pass hears of its layers, and can end it; then it can be made again."""

import pytest

from headlight.app.runs import models, passes, runs


class _Ended(BaseException):
    """What Streamlit raises in a script's run that is to end."""


def test_each_layer_is_told_once(settings: dict[str, object], folder: str) -> None:
    heard: list[tuple[int, int, str]] = []
    with passes.heard_by(lambda *progress: heard.append(progress)):
        models.open_model(folder)
        opening = len(heard)
        runs.run(folder, "one two three", True)
        runs.run(folder, "one two three", True)  # from the cache
    runs.run(folder, "one two", True)
    assert heard[opening:] == [(0, 3, ""), (1, 3, ""), (2, 3, "")]
    assert {steps for *_, steps in heard[:opening]} == {"MB of the weights done"}


def test_a_pass_that_was_ended_leaves_nothing_and_is_made_anew(settings: dict[str, object], folder: str) -> None:
    settings.update(runs_at_once=1, runs_waiting=0)
    heard: list[int] = []

    def end(done: int, total: int, steps: str) -> None:
        if not steps:
            heard.append(done)
            if done == 1:
                raise _Ended

    with passes.heard_by(end), pytest.raises(_Ended):
        runs.run(folder, "one two three", True)
    assert heard == [0, 1]
    assert runs.run(folder, "one two three", True).thumbnails.isfinite().all()  # its place is free, and so is its name
