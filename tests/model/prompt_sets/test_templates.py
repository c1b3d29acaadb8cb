"""Templates with slots: the texts they give, the positions that slots name, and what is refused."""

import pytest

from headlight.model import HeadlightError, load
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.templates import PromptTemplate, from_templates, replaced, swapped

TEXT = "When {A} and {B} went to the {place}, {B} gave a {thing} to"
NAMES = ("Mary", "John", "Tom", "Anna")
VALUES = {"A": NAMES, "B": NAMES, "C": NAMES, "place": ("store", "park"), "thing": ("drink",)}
IOI = PromptTemplate(TEXT, swapped(TEXT, "A", "B"), (" {A}",), (" {B}",), VALUES, {"A": "IO", "B": "S1", "B 2": "S2"})


def test_the_corrupted_prompt_is_written_by_swapping_or_replacing_slots() -> None:
    assert IOI.corrupted == "When {B} and {A} went to the {place}, {A} gave a {thing} to"
    assert replaced(TEXT, "B", "C", 2) == "When {A} and {B} went to the {place}, {C} gave a {thing} to"
    assert replaced("{{{B}}} {B}", "B", "C") == "{{{C}}} {C}"


def test_a_row_is_the_template_by_hand() -> None:
    row = IOI.sample(24)[5]
    a, b, place = row.labels["A"], row.labels["B"], row.labels["place"]
    assert row.clean == f"When {a} and {b} went to the {place}, {b} gave a drink to"
    assert row.corrupted == f"When {b} and {a} went to the {place}, {a} gave a drink to"
    assert (row.answers, row.wrong_answers) == ((f" {a}",), (f" {b}",))
    assert list(row.positions) == ["IO", "S1", "place", "S2", "thing"]
    for name, clean, corrupted in (("IO", a, b), ("S1", b, a), ("S2", b, a), ("place", place, place)):
        here, there = row.positions[name]
        assert isinstance(here, tuple)
        assert isinstance(there, tuple)
        assert (row.clean[slice(*here)], row.corrupted[slice(*there)]) == (clean, corrupted)


def test_rows_are_distinct_all_there_are_and_the_seeds() -> None:
    """4 names in two slots that differ, and two places: 4 · 3 · 2 rows."""
    rows = IOI.sample(24)
    assert len({row.clean for row in rows}) == 24
    assert all(row.labels["A"] != row.labels["B"] for row in rows)
    assert [row.clean for row in IOI.sample(9, 1)] == [row.clean for row in IOI.sample(9, 1)]
    assert [row.clean for row in IOI.sample(9, 1)] != [row.clean for row in IOI.sample(9, 2)]
    with pytest.raises(HeadlightError, match="24 different rows, and 25 are wanted"):
        IOI.sample(25)
    many = PromptTemplate("{a} {b} {c}", values=dict.fromkeys("abc", tuple(map(str, range(1000)))))
    assert len({row.clean for row in many.sample(500)}) == 500


def test_a_form_goes_with_its_value_and_several_answers_stand_beside_each_other() -> None:
    values = {"noun": ("girl", "man"), "noun.plural": ("girls", "men"), "noun.says": ("is|was", "is|was|has")}
    template = PromptTemplate("The {noun.plural} and the {noun}", "", (" {noun.says}",), (), values, title="nouns")
    rows = {row.clean: row for row in template.sample(2)}
    assert rows["The men and the man"].answers == (" is", " was", " has")
    assert rows["The girls and the girl"].labels == {"noun": "girl", "template": "nouns"}


def test_a_set_takes_its_templates_in_turn() -> None:
    one, two = (
        PromptTemplate("{x} one", values={"x": tuple("abc")}),
        PromptTemplate("{x} two", values={"x": tuple("abc")}),
    )
    rows = from_templates("both", [one, two], 5).rows
    assert [str(row.clean)[2:] for row in rows] == ["one", "two", "one", "two", "one"]
    with pytest.raises(HeadlightError, match="2 to"):
        from_templates("both", [one, two], 1)


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        (" ", {}, "empty"),
        ("{a", {}, "braces"),
        ("{}", {}, "is no name"),
        ("{a!r}", {"a": ("x",)}, "is no name"),
        ("{nam}", {"name": ("x",)}, "Nearest: name"),
        ("{a}", {"a": ("x", "")}, "empty"),
        ("{a.b}", {"a": ("x", "y"), "a.b": ("z",)}, "1 values and {a} 2"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(text: str, values: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(HeadlightError, match=message):
        PromptTemplate(text, values=values)


def test_values_of_one_length_make_prompts_of_one_length() -> None:
    tokenizer = load("mini").tokenizer
    assert tokenizer is not None
    odd = {**VALUES, "A": (*NAMES, "Bartholomew"), "B": (*NAMES, "Bartholomew"), "place": ("store", "park", "zyx qua")}
    template = PromptTemplate(IOI.text, IOI.corrupted, IOI.answers, IOI.wrong_answers, odd)
    assert not to_tokens(from_templates("ioi", [template], 60), tokenizer).is_one_length
    equal = template.with_equal_tokens(tokenizer)
    assert (equal.values["A"], equal.values["place"]) == (NAMES, ("store", "park"))
    encoded = to_tokens(from_templates("ioi", [equal], 24), tokenizer)
    assert encoded.is_one_length
    assert encoded.position_names == ("A", "B", "place", "B 2", "thing", "end")
