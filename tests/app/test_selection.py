"""The selection and the page's URL."""

from typing import get_args
from urllib.parse import parse_qsl, urlencode

from hypothesis import given
from hypothesis import strategies as st

from app.selection import MAX_HEADS, MAX_URL_PROMPT, Measure, Scale, Selection, from_query, to_query, within

INDEX = st.integers(0, 999_999)
SELECTIONS = st.builds(
    Selection,
    model=st.text(max_size=50),
    prompt=st.text(max_size=200),
    bos=st.booleans(),
    heads=st.none() | st.lists(st.tuples(INDEX, INDEX), max_size=MAX_HEADS, unique=True).map(tuple),
    query=st.none() | INDEX,
    key=st.none() | INDEX,
    scale=st.sampled_from(get_args(Scale)),
    layer=st.none() | INDEX,
    position=st.none() | INDEX,
    measure=st.sampled_from(get_args(Measure)),
    target=st.text(max_size=20),
)


@given(SELECTIONS)
def test_a_selection_goes_through_a_url_and_back_without_loss(selection: Selection) -> None:
    url = urlencode(to_query(selection))
    assert from_query(dict(parse_qsl(url, keep_blank_values=True))) == (selection, ())


@given(st.dictionaries(st.sampled_from([*Selection.__annotations__, "left_out", "nonsense"]), st.text(max_size=30)))
def test_any_url_gives_a_selection_and_names_what_it_could_not_read(query: dict[str, str]) -> None:
    selection, unread = from_query(query)
    assert set(unread) <= set(Selection.__annotations__)
    assert from_query(to_query(selection)) == (selection, ())


def test_unreadable_values_are_left_out_and_the_rest_is_kept() -> None:
    query = {"prompt": "hello", "heads": "1.2 x", "query": "-1", "bos": "yes", "measure": "colour", "key": "3"}
    selection, unread = from_query(query)
    assert selection == Selection(prompt="hello", key=3)
    assert set(unread) == {"heads", "query", "bos", "measure"}


def test_more_heads_than_fit_are_not_read() -> None:
    assert from_query({"heads": " ".join(f"0.{head}" for head in range(MAX_HEADS + 1))})[1] == ("heads",)


def test_no_head_is_not_the_same_as_no_choice() -> None:
    assert from_query(to_query(Selection(heads=())))[0].heads == ()
    assert from_query(to_query(Selection(heads=None)))[0].heads is None


def test_a_prompt_too_long_for_a_url_is_said_to_be_missing() -> None:
    query = to_query(Selection(prompt="a" * (MAX_URL_PROMPT + 1), model="mini"))
    assert "prompt" not in query
    assert from_query(query) == (Selection(model="mini"), ("prompt",))


def test_what_a_run_does_not_have_is_dropped() -> None:
    chosen = Selection(heads=((0, 1), (9, 0)), query=4, key=5, layer=3, position=4)
    kept = within(chosen, n_layers=3, n_heads=2, n_pos=5)
    assert kept == Selection(heads=((0, 1),), query=4, key=None, layer=3, position=4)


def test_if_no_chosen_head_exists_the_page_chooses() -> None:
    assert within(Selection(heads=((9, 9),)), n_layers=2, n_heads=2, n_pos=5).heads is None
    assert within(Selection(heads=()), n_layers=2, n_heads=2, n_pos=5).heads == ()
