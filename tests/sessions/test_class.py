"""A small class at one server: every student goes through a whole lesson, and has the score that the library gives."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.annotations import unchecked_annotations
from tests.sessions.students import by_socket, exercises, expected_verdicts, thought

pytestmark = pytest.mark.usefixtures("unchecked_here")
STUDENTS = 4


@pytest.fixture
def unchecked_here():
    """Annotations are not checked while answers are computed: a batch of patches grows within a pass."""
    with unchecked_annotations():
        yield


@pytest.mark.thorough
def test_everyone_is_served_and_has_the_right_score(server: str) -> None:
    questions = exercises("attention")
    with ThreadPoolExecutor(STUDENTS) as pool:
        reports = list(
            pool.map(
                lambda number: by_socket(server, "attention", number, questions, thought(number, 0.05)), range(STUDENTS)
            )
        )
    for number, report in enumerate(reports):
        assert report.refusals == []
        assert report.verdicts == expected_verdicts(number, questions)
    assert (
        len({tuple(report.verdicts.values()) for report in reports}) == STUDENTS
    )  # each made another mistake, or none
