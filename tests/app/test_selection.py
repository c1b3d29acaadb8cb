"""The selection and the page's URL."""

import base64
import zlib
from dataclasses import replace
from typing import get_args
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.selection import Selection, from_query, to_query, too_long_for_url, within
from app.selection.chosen import (
    FINDER_COUNTS,
    FINDER_HALVES,
    FLOW_THRESHOLDS,
    LEAST_TOP_P,
    MOST_NEW,
    MOST_TEMPERATURE,
    Align,
    BWrites,
    CircuitKind,
    Convention,
    FinderData,
    FinderScore,
    Measure,
    PatchInto,
    PatchMap,
    Scale,
    Show,
    Side,
    Sink,
    Sort,
    Unit,
)
from app.selection.links import LONGEST_PLAIN, MAX_HEADS, MAX_URL_PROMPT
from model.edits import Steer, from_text

INDEX = st.integers(0, 999_999)
HEAD = st.tuples(INDEX, INDEX)
PLACES = st.lists(INDEX, max_size=5, unique=True).map(tuple)
# From texts, because to build an edit checks its annotations with the help of chance, which Hypothesis does not want.
TEXTS = [
    "ablate:0.1,2.3:resample:one+two%3A",
    "cut:1.2:3:4:1",
    "freeze:",
    "patch:blocks.1.hook_resid_pre:a%20b+%C3%A9:1,2:",
    "steer:1:yes:no:-2.5:3:add",
    "drop:0:MLP",
]
EDITS = st.sampled_from(list(map(from_text, TEXTS)))
SELECTIONS = st.builds(
    Selection,
    model=st.text(max_size=50),
    prompt=st.text(max_size=200),
    bos=st.booleans(),
    model_b=st.text(max_size=50),
    prompt_b=st.none() | st.text(max_size=200),
    align=st.sampled_from(get_args(Align)),
    heads=st.none() | st.lists(HEAD, max_size=20, unique=True).map(tuple),
    queries=PLACES,
    keys=PLACES,
    show=st.sampled_from(get_args(Show)),
    sink=st.sampled_from(get_args(Sink)),
    scale=st.sampled_from(get_args(Scale)),
    own_scale=st.booleans(),
    unit=st.sampled_from(get_args(Unit)),
    side=st.none() | st.sampled_from(get_args(Side)),
    sort=st.sampled_from(get_args(Sort)),
    top=st.none() | INDEX,
    pair=st.just(()) | st.lists(HEAD, min_size=2, max_size=2, unique=True).map(tuple),
    layer=st.none() | INDEX,
    position=st.none() | INDEX,
    component=st.none() | INDEX,
    convention=st.sampled_from(get_args(Convention)),
    measure=st.sampled_from(get_args(Measure)),
    target=st.text(max_size=20),
    b_writes=st.sampled_from(get_args(BWrites)),
    source_b=st.none() | st.text(max_size=50),
    translation_b=st.none() | st.text(max_size=50),
    translator_b=st.text(max_size=20),
    branch_b=st.none() | INDEX,
    pair_align=st.sampled_from(get_args(Align)),
    circuit=st.sampled_from(get_args(CircuitKind)),
    circuit_token=st.text(max_size=20),
    table=st.booleans(),
    edits=st.lists(EDITS, max_size=5).map(tuple),
    edits_off=PLACES,
    flow_threshold=st.floats(*FLOW_THRESHOLDS),
    flow_chosen=st.just(()) | st.tuples(INDEX, INDEX) | st.tuples(INDEX, INDEX, INDEX),
    n_new=st.integers(1, MOST_NEW),
    temperature=st.floats(0, MOST_TEMPERATURE),
    top_k=st.none() | st.integers(1, 999_999),
    top_p=st.floats(LEAST_TOP_P, 1),
    seed=INDEX,
    stop=st.booleans(),
    written=st.lists(INDEX, max_size=5).map(tuple),
    step=INDEX,
    finder_score=st.sampled_from(get_args(FinderScore)),
    finder_data=st.sampled_from(get_args(FinderData)),
    finder_seed=INDEX,
    finder_count=st.integers(*FINDER_COUNTS),
    finder_half=st.integers(*FINDER_HALVES),
    finder_top=st.none() | st.integers(1, 999_999),
    every_head=st.booleans(),
    patch_map=st.sampled_from(get_args(PatchMap)),
    patch_into=st.sampled_from(get_args(PatchInto)),
    patch_layer=st.none() | INDEX,
    patch_head=st.none() | HEAD,
    patch_mlps=st.booleans(),
    patch_estimate=st.booleans(),
)


def _through_a_url(selection: Selection) -> tuple[Selection, tuple[str, ...]]:
    return from_query(dict(parse_qsl(urlencode(to_query(selection)), keep_blank_values=True)))


@given(SELECTIONS)
def test_a_selection_goes_through_a_url_and_back_without_loss(selection: Selection) -> None:
    assert _through_a_url(selection) == (selection, ())


@given(st.dictionaries(st.sampled_from([*Selection.__annotations__, "left_out", "nonsense"]), st.text(max_size=30)))
def test_any_url_gives_a_selection_and_names_what_it_could_not_read(query: dict[str, str]) -> None:
    selection, unread = from_query(query)
    assert set(unread) <= set(Selection.__annotations__)
    assert from_query(to_query(selection)) == (selection, ())


def test_unreadable_values_are_left_out_and_the_rest_is_kept() -> None:
    query = {"prompt": "hello", "heads": "1.2 x", "queries": "-1", "bos": "yes", "measure": "colour", "keys": "3"}
    selection, unread = from_query(query)
    assert selection == Selection(prompt="hello", keys=(3,))
    assert set(unread) == {"heads", "queries", "bos", "measure"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_new", ["0", "65", "-1", "2.5", "many"]),
        ("temperature", ["-0.1", "2.1", "nan", "inf", "hot"]),
        ("top_k", ["0", "-5", "1000000"]),
        ("top_p", ["0", "0.001", "1.1", "nan"]),
        ("seed", ["-1", "1e3"]),
        ("written", ["1 -2", "x", " ".join(["7"] * (MOST_NEW + 1))]),
    ],
)
def test_ways_to_write_out_of_range_are_left_out(name: str, values: list[str]) -> None:
    for value in values:
        assert from_query({name: value, "step": "3"}) == (Selection(step=3), (name,))


def test_more_heads_than_any_page_shows_are_not_read() -> None:
    assert from_query({"heads": " ".join(f"0.{head}" for head in range(MAX_HEADS + 1))})[1] == ("heads",)


@pytest.mark.parametrize(
    "text", ["drop:0:MLP drop:1", "drop", "os.abort()", " ".join(["drop:0:MLP"] * 21), "cut:1.2:3"]
)
def test_hostile_edits_are_not_read(text: str) -> None:
    assert from_query({"edits": text, "model": "mini"}) == (Selection(model="mini"), ("edits",))


def test_edits_with_prompts_too_long_for_a_url_are_said_to_be_missing() -> None:
    selection = Selection(edits=(Steer(0, "\u4e00" * MAX_URL_PROMPT, "b"),), prompt="a")
    assert too_long_for_url(selection) == ("edits",)
    assert _through_a_url(selection) == (Selection(prompt="a"), ("edits",))


def test_a_prompt_b_comes_before_edits_and_those_switched_off_are_none() -> None:
    edits = tuple(map(from_text, TEXTS))
    assert Selection(edits=edits, edits_off=(0, 2, 3, 4, 99)).edits_on == (edits[1], edits[5])
    assert Selection(edits=edits, prompt_b="b").edits_on == ()
    assert Selection(edits=edits, prompt_b="b").compares
    assert not Selection(edits=edits[:1], edits_off=(0,)).compares


def test_a_pair_is_two_heads() -> None:
    assert from_query({"pair": "0.1 0.2"})[0].pair == ((0, 1), (0, 2))
    assert from_query({"pair": "0.1"})[1] == ("pair",)


def test_no_head_is_not_the_same_as_no_choice() -> None:
    assert from_query(to_query(Selection(heads=())))[0].heads == ()
    assert from_query(to_query(Selection(heads=None)))[0].heads is None


def test_a_long_prompt_is_compressed_and_comes_back() -> None:
    prompt = "The quick brown fox found a small key near the river. " * 60
    selection = Selection(prompt=prompt, prompt_b=prompt[::-1])
    assert len(prompt) > LONGEST_PLAIN
    assert len(to_query(selection)["prompt"]) < len(prompt) / 4
    assert _through_a_url(selection) == (selection, ())


def test_a_prompt_that_looks_compressed_comes_back_as_it_was_typed() -> None:
    assert _through_a_url(Selection(prompt="~hello")) == (Selection(prompt="~hello"), ())


HALF_A_PAIR = base64.urlsafe_b64encode(zlib.compress(b"a\xed\xa0\x80b")).decode()  # what no page can be sent


@pytest.mark.parametrize("damaged", ["~", "~!!!", "~eJz", "~" + "A" * 100, f"~{HALF_A_PAIR}"])
def test_a_damaged_compressed_prompt_is_left_out(damaged: str) -> None:
    assert from_query({"prompt": damaged, "model": "mini"}) == (Selection(model="mini"), ("prompt",))


def test_a_compressed_prompt_that_would_fill_the_memory_is_left_out() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 100_000_000)).decode()
    assert from_query({"prompt": f"~{bomb}"})[1] == ("prompt",)


def test_prompts_too_long_for_a_url_are_said_to_be_missing() -> None:
    # Hardly any letter comes twice, so compression does not help.
    long = "".join(chr(0x4E00 + 7919 * number % 20_000) for number in range(MAX_URL_PROMPT))
    selection = Selection(prompt=long, prompt_b=long, model="mini")
    assert too_long_for_url(selection) == ("prompt", "prompt_b")
    assert not {"prompt", "prompt_b"} & set(to_query(selection))
    assert _through_a_url(selection) == (Selection(model="mini"), ("prompt", "prompt_b"))
    assert too_long_for_url(replace(selection, prompt="short")) == ("prompt_b",)


def test_what_a_run_does_not_have_is_dropped() -> None:
    chosen = Selection(heads=((0, 1), (9, 0)), queries=(4, 5), keys=(5,), pair=((0, 1), (9, 0)), layer=3, position=4)
    kept = within(chosen, n_layers=3, n_heads=2, n_places=5)
    assert kept == Selection(heads=((0, 1),), queries=(4,), keys=(), layer=3, position=4)


def test_if_no_chosen_head_exists_the_page_chooses() -> None:
    assert within(Selection(heads=((9, 9),)), n_layers=2, n_heads=2, n_places=5).heads is None
    assert within(Selection(heads=()), n_layers=2, n_heads=2, n_places=5).heads == ()


def test_a_b_that_is_not_there_is_dropped() -> None:
    alone = Selection(model_b="other", side="b")
    assert within(alone, n_layers=1, n_heads=1, n_places=1) == Selection()
    compared = replace(alone, prompt_b="b")
    assert within(compared, n_layers=1, n_heads=1, n_places=1) == compared
