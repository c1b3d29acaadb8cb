"""Walks through lessons: a student learns what an induction head is, a teacher writes a lesson that two browsers do."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.driver import Driver

pytestmark = pytest.mark.thorough


@pytest.fixture
def student(browser: Browser, server: str) -> Iterator[Driver]:
    with closing(Driver(browser, server)) as driver:
        yield driver
        assert not driver.complaints


def _pane(driver: Driver) -> Locator:
    return driver.page.locator("aside.pane")


def _answer(driver: Driver, text: str) -> None:
    pane = _pane(driver)
    pane.get_by_label("Your answer").fill(text)
    pane.get_by_role("button", name="Check").click()
    expect(pane.locator(".verdict")).to_be_visible()


def _next(driver: Driver, step: int) -> None:
    _pane(driver).get_by_role("button", name="Next").click()
    expect(_pane(driver)).to_contain_text(f"{step} of ")
    driver.settle()


def test_a_student_finds_an_induction_head_and_removes_it(student: Driver) -> None:
    student.page.goto(f"{student.url}/?lesson=induction")
    student.settle()
    pane = _pane(student)
    _answer(student, "0.7%")
    expect(pane.locator(".verdict")).to_contain_text("Right.")
    _next(student, 2)
    _answer(student, "L0H1")
    expect(pane.locator(".verdict")).to_contain_text("Not what the model says")
    _answer(student, "l1h1")
    expect(pane.locator(".verdict")).to_contain_text("Right. The model says L1H1.")
    expect(pane.locator(".score")).to_have_text("2 of 9 right")
    _next(student, 3)
    student.page.go_back()
    expect(pane).to_contain_text("2 of 9")
    student.settle()
    for step in range(3, 9):
        _next(student, step)
    expect(student.fed).to_have_count(2)  # the model, and the model without both heads
    _answer(student, "club")
    pane.get_by_role("button", name="Show the answer").click()
    expect(pane.locator(".answer")).to_contain_text("0.1%")
    student.page.reload()
    student.settle()
    expect(pane.locator(".score")).to_have_text("3 of 9 right")  # kept in the browser
    expect(pane).to_contain_text("You answered this correctly.")
    pane.get_by_role("button", name="Close the lessons").click()
    expect(pane).to_be_hidden()
    expect(student.fed).to_have_count(2)  # the page stays


def test_a_lesson_is_done_by_key(student: Driver) -> None:
    """After a right answer the keyboard is at the next step's button, after a wrong one where it was."""
    student.page.goto(f"{student.url}/?lesson=explanation")
    student.settle()
    pane, press = _pane(student), student.page.keyboard.press
    answer, check = pane.get_by_label("Your answer"), pane.get_by_role("button", name="Check")
    answer.focus()
    student.page.keyboard.type("0.5")
    press("Enter")
    expect(pane.locator(".verdict")).to_contain_text("Not what the model says")
    expect(answer).to_be_focused()
    press("Tab")
    press("Enter")
    expect(check).to_be_focused()
    press("Shift+Tab")
    press("Control+A")
    student.page.keyboard.type("0.999")
    press("Enter")
    expect(pane.locator(".score")).to_have_text("1 of 7 right")
    expect(pane.get_by_role("button", name="Next")).to_be_focused()
    press("Enter")
    expect(pane).to_contain_text("2 of 7")
    expect(pane).to_be_focused()


def test_a_teacher_writes_a_lesson_that_two_browsers_do_at_once(browser: Browser, server: str) -> None:
    with ExitStack() as stack:
        teacher, *students = (stack.enter_context(closing(Driver(browser, server))) for _ in range(3))
        teacher.open(prompt="one two three one two", heads="1.1", queries="5")
        teacher.page.get_by_role("button", name="Lessons").click()
        pane = _pane(teacher)
        pane.get_by_role("button", name="Write a lesson").click()
        pane.get_by_label("Title of the step").fill("Look back")
        pane.get_by_label("Text").fill("Follow the **line**.")
        pane.get_by_role("textbox", name="Question").fill("Which token does L1H1 look at?")
        pane.get_by_label("Checked against").select_option("attended L1H1 5")
        pane.get_by_role("button", name="Add this step").click()
        draft = pane.get_by_label("The lesson so far")
        expect(draft).to_have_value(re.compile("Check: attended L1H1 5"))
        expect(pane.get_by_label("Checked against")).to_have_value("")  # the next step begins anew
        with teacher.page.expect_download() as saved:
            pane.get_by_role("button", name="Download").click()
        for student in students:
            student.page.goto(f"{server}/")
            student.settle()
            student.page.get_by_role("button", name="Lessons").click()
            with student.page.expect_file_chooser() as chooser:
                _pane(student).get_by_role("button", name="Open a lesson's file").click()
            chooser.value.set_files(saved.value.path())
            expect(_pane(student)).to_contain_text("Look back")
            expect(student.prompt).to_have_value("one two three one two")
        first, second = students
        _answer(first, "nonsense")
        _answer(second, "three")
        expect(_pane(first).locator(".score")).to_have_text("0 of 1 right")
        expect(_pane(second).locator(".verdict")).to_be_visible()
        assert not [driver.complaints for driver in (teacher, *students) if driver.complaints]
