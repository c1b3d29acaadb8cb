"""When scripts of a session that asks without a rest begin, by a clock that moves while somebody waits or works."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest

from headlight.app.frame import script_turns
from headlight.app.frame.script_turns import FREE, FRESH, HALF_LIFE, REST, TICK, ScriptTurns, in_turn
from headlight.app.runs import visitors
from headlight.app.server import memory
from tests.places import MAIN

AGAIN = RerunException(RerunData(widget_states=WidgetStates()))
REDRAW = RerunException(RerunData())
QUICK = 0.1  # seconds that a script takes


@dataclass
class Server:
    """Turns, and the seconds of their clock; `during` is called at each look of who waits."""

    now: float = 1000.0
    session: str = ""
    during: Callable[[], None] = lambda: None
    turns: ScriptTurns = field(init=False)

    def __post_init__(self) -> None:
        self.turns = ScriptTurns(lambda: self.during(), lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def ask(self, session: str, takes: float = QUICK, end: BaseException | None = None) -> float:
        """Run a script that takes so long and ends so; return the seconds that it waited for its turn."""
        asked, self.session = self.now, session
        with suppress(RerunException), in_turn():
            waited = self.now - asked
            self.now += takes
            if end is not None:
                raise end
        return waited

    def ask_too_much(self, *sessions: str) -> None:
        """Have sessions ask as often as is counted, so that they give way for ten seconds."""
        for session in sessions:
            self.turns.count(session, 2 * FREE)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server where somebody has asked just now."""
    server = Server()
    monkeypatch.setattr(script_turns, "_TURNS", server.turns)
    monkeypatch.setattr(visitors, "session", lambda: server.session)
    server.ask("somebody")
    return server


def test_who_asks_now_and_then_gives_way_to_nobody(server: Server) -> None:
    with server.turns.turn("somebody"):
        for _ in range(100):
            assert server.ask("a person") == 0
            server.now += 1.5


def test_who_asks_without_a_rest_waits_for_the_scripts_of_others(server: Server) -> None:
    with ExitStack() as other:
        other.enter_context(server.turns.turn("somebody"))
        assert [server.ask("reader", 0) for _ in range(int(FREE))] == [0] * int(FREE)
        ends = server.now + 0.5

        def end() -> None:
            if server.now >= ends:
                other.close()

        server.during = end
        assert server.ask("reader") == pytest.approx(0.5, abs=2 * TICK)


def test_an_interruption_counts_for_more(server: Server) -> None:
    """Each is a request, and counts for three besides."""
    with server.turns.turn("somebody"):
        assert [server.ask("reader", 0, AGAIN) for _ in range(3)] == [0] * 3
        assert server.ask("reader") > 0


def test_a_page_that_draws_itself_anew_gives_way_to_nobody(server: Server) -> None:
    """As it does after each step of long work: it has been asked once."""
    with server.turns.turn("somebody"):
        assert [server.ask("reader", 0, REDRAW) for _ in range(100)] == [0] * 100
        assert server.ask("reader", 0, AGAIN) == 0
        assert [server.ask("reader", 0) for _ in range(9)] == [0] * 9, "nor did its interruption count"
        assert server.ask("reader") > 0


def test_scripts_that_give_way_rest_after_each_other(server: Server) -> None:
    server.ask_too_much("reader", "another")
    assert server.ask("reader", 0.4) == 0, "no other script is under way"
    assert server.ask("another", 0.4) == pytest.approx(REST * 0.4, abs=2 * TICK)


def test_after_a_long_script_others_rest_not_longer_than_after_a_short_one(server: Server) -> None:
    server.ask_too_much("reader")
    server.ask("reader", 60)
    server.ask("somebody")
    server.ask_too_much("another")
    assert server.ask("another") == pytest.approx(REST * FRESH, abs=2 * TICK)


def test_scripts_that_give_way_run_one_at_a_time(server: Server) -> None:
    server.ask_too_much("reader", "another")
    with server.turns.turn("reader"):
        assert server.ask("another") == pytest.approx(FRESH, abs=2 * TICK)


def test_who_is_alone_gives_way_to_nobody(server: Server) -> None:
    server.now += HALF_LIFE
    assert [server.ask("reader") for _ in range(30)] == [0] * 30


def test_a_script_that_waits_for_long_work_holds_up_nobody(server: Server) -> None:
    server.ask_too_much("reader")
    with server.turns.turn("somebody"):
        server.now += FRESH
        assert server.ask("reader") < FRESH


def test_nobody_waits_without_end(server: Server) -> None:
    """Where others' scripts are always under way, as long as it takes to forget the requests that count."""
    for _ in range(1000):
        server.ask("reader", 0, AGAIN)
    others = ExitStack()

    def begin_another() -> None:
        others.enter_context(server.turns.turn(server.now))

    server.during = begin_another
    begin_another()
    assert HALF_LIFE <= server.ask("reader") < 2 * HALF_LIFE
    others.close()


def test_a_wait_that_is_ended_leaves_nothing_behind(server: Server) -> None:
    def ask_again() -> None:
        raise AGAIN

    server.ask_too_much("reader")
    server.during = ask_again
    with server.turns.turn("somebody"), pytest.raises(RerunException), server.turns.turn("reader"):
        pytest.fail("its turn has not come")
    assert server.ask("reader") == 0


def test_the_page_takes_its_turn(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.ask_too_much("reader")
    server.session = "reader"
    began, drawn = server.now, list[float]()
    monkeypatch.setattr(memory, "spare_modules", lambda: drawn.append(server.now))
    with server.turns.turn("somebody"):
        assert not AppTest.from_file(MAIN, default_timeout=60).run().exception
    assert drawn[0] - began == pytest.approx(FRESH, abs=2 * TICK)
