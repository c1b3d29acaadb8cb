"""A class: students who go through a lesson step by step, over websockets or in a real browser, and their scores."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlencode

from playwright.sync_api import expect

from headlight.app.frame.lessons.library import open_lesson
from headlight.app.frame.lessons.pane import value_of
from headlight.app.frame.lessons.quantities import Value
from headlight.app.registry import VIEWS
from tests.e2e.driver import Driver
from tests.sessions.client import Client

PANE = "headlight.lesson"  # the key of the pane
REFUSALS = "Busy:", "This server has", "Unexpected error", "Your address"


@dataclass(frozen=True)
class Exercise:
    """A step's question: an answer that is right by the library alone, and one that is not."""

    right: str
    wrong: str


@dataclass
class Report:
    """What came of a student's lesson: whether each answer was taken as right, seconds of each act, and refusals."""

    verdicts: dict[int, bool] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def exercises(lesson: str) -> list[Exercise | None]:
    """The question of each step of a lesson; None for a step without one."""
    steps = open_lesson(lesson).lesson
    return [None if step.check is None else _exercise(value_of(steps, step, VIEWS)) for step in steps.steps]


def _exercise(value: Value) -> Exercise:
    if isinstance(value, float):
        return Exercise(f"{value:.5g}", f"{value + 7:.5g}")
    return Exercise(value[0] if isinstance(value, tuple) else value, "L99H99")


def mistake_of(student: int, questions: list[Exercise | None]) -> int | None:
    """The step at which a student answers wrongly: another for each, and none for some."""
    exercise_steps = [step for step, exercise in enumerate(questions) if exercise]
    return [None, *exercise_steps][student % (len(exercise_steps) + 1)]


def expected_verdicts(student: int, questions: list[Exercise | None]) -> dict[int, bool]:
    """Whether each of a student's answers is right."""
    return {step: step != mistake_of(student, questions) for step, exercise in enumerate(questions) if exercise}


def by_socket(
    url: str, lesson: str, student: int, questions: list[Exercise | None], pause: Callable[[], None]
) -> Report:
    """Go through a lesson with the messages that a browser's script sends."""
    report, numbers, mistake = Report(), count(), mistake_of(student, questions)

    def timed(act: Callable[[], object]) -> None:
        began = time.perf_counter()
        act()
        report.seconds.append(time.perf_counter() - began)
        report.refusals += [text for text in client.texts if text.startswith(REFUSALS)]

    client = Client(url, urlencode({"lesson": lesson}))
    try:
        timed(client.open)
        for step, exercise in enumerate(questions):
            if step:
                pause()
                timed(lambda step=step: client.do(PANE, ["step", step, next(numbers)]))  # type: ignore[misc]
            if client.props(PANE)["step"] != step:
                report.refusals.append(f"step {step} is not shown: {client.props(PANE)['error']}")
            if exercise is None:
                continue
            pause()
            said = exercise.wrong if step == mistake else exercise.right
            timed(lambda said=said: client.do(PANE, ["check", said, next(numbers)]))  # type: ignore[misc]
            report.verdicts[step] = (client.props(PANE)["verdict"] or {}).get("right")
    finally:
        client.close()
    return report


class InBrowser:
    """A student with a real page."""

    def __init__(self, driver: Driver, lesson: str, student: int, questions: list[Exercise | None]) -> None:
        self._driver, self._questions, self._mistake = driver, questions, mistake_of(student, questions)
        self._pane, self._step = driver.page.locator("aside.pane"), 0
        driver.page.goto(f"{driver.url}/?{urlencode({'lesson': lesson})}")

    def do_step(self) -> None:
        """Answer the question of this step, and go to the next."""
        self._driver.settle()
        exercise = self._questions[self._step]
        if exercise is not None:
            self._pane.get_by_label("Your answer").fill(
                exercise.wrong if self._step == self._mistake else exercise.right
            )
            self._pane.get_by_role("button", name="Check").click()
            expect(self._pane.locator(".verdict")).to_be_visible()
        self._step += 1
        if self._step < len(self._questions):
            self._pane.get_by_role("button", name="Next").click()
            expect(self._pane).to_contain_text(f"{self._step + 1} of ")

    @property
    def score(self) -> str:
        """What the pane says: how many of how many are right."""
        return self._pane.locator(".score").inner_text()


def thought(student: int, seconds: float) -> Callable[[], None]:
    """Pauses of a student, each another around so many seconds."""
    rng = random.Random(student)
    return lambda: time.sleep(rng.uniform(0.5, 1.5) * seconds)
