"""What is computed of a run is kept by the function and all that it is given."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from headlight.model.attribution.score import Cell
from headlight.model.runs.host import kept


class Kept:
    """Keeps everything, and counts what was made."""

    def __init__(self) -> None:
        self.results: dict[Hashable, object] = {}

    def keep(self, name: Hashable, make: Callable[[], object]) -> object:
        if name not in self.results:
            self.results[name] = make()
        return self.results[name]


@dataclass(frozen=True, eq=False)
class Named:
    """Told from others by its name alone, whichever object it is."""

    identity: str


@kept
def arguments(keeper: Kept, cell: Cell | None = None, by: Named | None = None) -> list[object]:
    return [cell, by and by.identity]


@kept
def told_too(keeper: Kept, cell: Cell | None = None) -> str:
    return "another function"


def test_a_result_is_kept_however_its_arguments_are_given() -> None:
    keeper = Kept()
    assert (
        arguments(keeper, Cell(0, 1, 2, 3))
        is arguments(keeper, cell=Cell(0, 1, 2, 3))
        is arguments(keeper, Cell(0, 1, 2, 3), None)
    )
    assert arguments(keeper) is arguments(keeper, None)
    assert arguments(keeper, None, Named("a")) is arguments(keeper, by=Named("a"))
    assert len(keeper.results) == 3


def test_no_result_stands_for_another() -> None:
    keeper = Kept()
    cells = [None, Cell(0, 1, 2, 3), Cell(0, 0, 2, 3), Cell(0, 1, 1, 3), Cell(1, 1, 2, 3), Cell(0, 1, 2, 2)]
    assert [arguments(keeper, cell) for cell in cells] == [[cell, None] for cell in cells]
    assert arguments(keeper, None, Named("a")) != arguments(keeper, None, Named("b"))
    assert told_too(keeper, cells[1]) == "another function"
    assert arguments(Kept(), cells[1]) is not arguments(keeper, cells[1])
