"""A class of forty goes through a lesson that ships, at one link: `make bench ARGS=lesson`.

Most students are sessions that say what a browser's script says; the others are pages in Chromium. Each answers every
question, and most of them one of these wrongly. It exits with 1 where a student was turned away, had another score than
by the library alone, or answers took longer than the goal.
"""

import os
import statistics
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

from tests.e2e.driver import Driver
from tests.serving import chromium, chromium_path, headlight
from tests.sessions.students import Exercise, InBrowser, by_socket, exercises, expected_verdicts, thought


def in_browsers(url: str, options: Namespace, questions: list[Exercise | None]) -> Iterator[str]:
    """Have some students go through the lesson in Chromium, step by step together; those whose score is wrong."""
    with chromium() as browser, ExitStack() as stack:
        drivers = [stack.enter_context(closing(Driver(browser, url))) for _ in range(options.browsers)]
        students = [InBrowser(driver, options.lesson, number, questions) for number, driver in enumerate(drivers)]
        for _ in questions:
            for student in students:
                student.do_step()
        for number, (driver, student) in enumerate(zip(drivers, students, strict=True)):
            expected = expected_verdicts(number, questions)
            if student.score != f"{sum(expected.values())} of {len(expected)} right" or driver.complaints:
                yield f"browser {number}: {student.score}, {driver.complaints}"


def flags() -> tuple[Namespace, list[str]]:
    """The benchmark's own flags, and the server's."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--lesson", default="attention")
    parser.add_argument("--students", type=int, default=40, help="all of them, those in browsers included")
    parser.add_argument("--browsers", type=int, default=3 if chromium_path() else 0, help="students in Chromium")
    parser.add_argument("--thought", type=float, default=5.0, help="seconds before each answer and each step")
    parser.add_argument("--goal", type=float, default=3.0, help="seconds, for 95 of 100 answers")
    return parser.parse_known_args()


def main() -> int:
    """Go through the lesson and print."""
    options, of_server = flags()
    questions = exercises(options.lesson)
    numbers = range(options.browsers, options.students)
    with (
        tempfile.TemporaryDirectory() as made,
        headlight(Path(made), *of_server) as url,
        ThreadPoolExecutor(options.students) as pool,
    ):
        answers = [
            pool.submit(by_socket, url, options.lesson, number, questions, thought(number, options.thought))
            for number in numbers
        ]
        wrong = list(in_browsers(url, options, questions)) if options.browsers else []
        reports = [answer.result() for answer in answers]
    refusals = [reason for report in reports for reason in report.refusals]
    for number, report in zip(numbers, reports, strict=True):
        if report.verdicts != expected_verdicts(number, questions):
            wrong.append(f"student {number}: {report.verdicts}")
    opening = max(report.seconds[0] for report in reports)
    seconds = sorted(each for report in reports for each in report.seconds[1:])
    cuts = statistics.quantiles(seconds, n=20)
    print(
        f"{options.students} students, {options.browsers} of them in Chromium, through {options.lesson!r}: "
        f"{len(questions)} steps, {sum(map(bool, questions))} questions; load {os.getloadavg()[0]:.0f} on "
        f"{os.cpu_count()} cores"
    )
    print(
        f"turned away: {len(refusals)}, wrong scores: {len(wrong)}; all open after {opening:.1f} s, then "
        f"p50 {cuts[9]:.2f} s, p95 {cuts[18]:.2f} s (goal: {options.goal:g} s), longest {seconds[-1]:.2f} s"
    )
    print("\n".join([*refusals, *wrong][:10]))
    return int(bool(refusals or wrong) or cuts[18] > options.goal)


if __name__ == "__main__":
    sys.exit(main())
