"""The selection and the page's URL."""

import base64
import zlib
from dataclasses import replace
from typing import get_args
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.app.pages.attention import choices as attention
from headlight.app.pages.flow import choices as flow
from headlight.app.pages.generate import choices as generate
from headlight.app.pages.heads import choices as heads
from headlight.app.pages.inside import choices as inside
from headlight.app.pages.lens import choices as lens
from headlight.app.pages.patching import choices as patching
from headlight.app.pages.prompts import choices as prompts
from headlight.app.pages.translate import choices as translate
from headlight.app.pages.weights import choices as weights
from headlight.app.parts.labels import FinderScore
from headlight.app.selection import Selection, from_query, to_query, too_long_for_url
from headlight.app.selection.choices import Change, Extent
from headlight.app.selection.chosen import FINDER_COUNTS, FINDER_HALVES, Scale, Sort
from headlight.app.selection.codecs import LONGEST_PLAIN, MAX_HEADS
from headlight.app.selection.links import MAX_URL_PROMPT, codecs
from headlight.model.attention.axis import Unit
from headlight.model.attention.fields import Show, Sink
from headlight.model.decoding.translation import Attends
from headlight.model.decoding.translations import Rows
from headlight.model.measure.alignment import Align
from headlight.model.measure.difference import Side
from headlight.model.patching import PatchMap
from headlight.model.patching.runs import Into
from headlight.model.runs.edits import Steer, from_text
from tests.app.choosing import PAGES

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
CHOICES = (
    st.builds(
        attention.Choices,
        show=st.sampled_from(get_args(Show)),
        sink=st.sampled_from(get_args(Sink)),
        unit=st.sampled_from(get_args(Unit)),
        top=st.none() | INDEX,
        pair=st.just(()) | st.lists(HEAD, min_size=2, max_size=2, unique=True).map(tuple),
        numbers=st.booleans(),
    ),
    st.builds(
        generate.Choices,
        n_new=st.integers(1, generate.MAX_NEW),
        temperature=st.floats(0, generate.MAX_TEMPERATURE),
        top_k=st.none() | st.integers(1, 999_999),
        top_p=st.floats(generate.LEAST_TOP_P, 1),
        seed=INDEX,
        stop=st.booleans(),
        written=st.lists(INDEX, max_size=5).map(tuple),
        step=INDEX,
        b_writes=st.sampled_from(get_args(generate.BWrites)),
    ),
    st.builds(
        heads.Choices,
        finder_score=st.sampled_from(get_args(FinderScore)),
        finder_data=st.sampled_from(get_args(heads.FinderData)),
        finder_top=st.none() | st.integers(1, 999_999),
        every_head=st.booleans(),
    ),
    st.builds(
        translate.Choices,
        attends=st.sampled_from(get_args(Attends)),
        rows=st.sampled_from(get_args(Rows)),
        pair_heads=st.none() | st.lists(HEAD, max_size=5, unique=True).map(tuple),
        pair_queries=PLACES,
        pair_keys=PLACES,
    ),
    st.builds(
        flow.Choices,
        flow_threshold=st.floats(*flow.THRESHOLDS),
        flow_chosen=st.just(()) | st.tuples(INDEX, INDEX) | st.tuples(INDEX, INDEX, INDEX),
    ),
    st.builds(inside.Choices, component=st.none() | INDEX, convention=st.sampled_from(get_args(inside.Convention))),
    st.builds(lens.Choices, measure=st.sampled_from(get_args(lens.ColourBy))),
    st.builds(
        patching.Choices,
        patch_map=st.sampled_from(get_args(PatchMap)),
        patch_into=st.sampled_from(get_args(Into)),
        patch_layer=st.none() | INDEX,
        patch_head=st.none() | HEAD,
        patch_mlps=st.booleans(),
        patch_estimate=st.booleans(),
    ),
    st.builds(prompts.Choices, statistic=st.sampled_from(get_args(prompts.Statistic)), statistic_head=st.none() | HEAD),
    st.builds(
        weights.Choices, circuit=st.sampled_from(get_args(weights.CircuitKind)), circuit_token=st.text(max_size=20)
    ),
)
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
    scale=st.sampled_from(get_args(Scale)),
    own_scale=st.booleans(),
    side=st.none() | st.sampled_from(get_args(Side)),
    sort=st.sampled_from(get_args(Sort)),
    layer=st.none() | INDEX,
    position=st.none() | INDEX,
    target=st.text(max_size=20),
    source_b=st.none() | st.text(max_size=50),
    translation_b=st.none() | st.text(max_size=50),
    translator_b=st.text(max_size=20),
    branch_b=st.none() | INDEX,
    pair_align=st.sampled_from(get_args(Align)),
    table=st.booleans(),
    edits=st.lists(EDITS, max_size=5).map(tuple),
    edits_off=PLACES,
    finder_seed=INDEX,
    finder_count=st.integers(*FINDER_COUNTS),
    finder_half=st.integers(*FINDER_HALVES),
    choices=st.tuples(*CHOICES).map(frozenset),
)
PARAMETERS = [name for kind in (Selection, *PAGES) for name in codecs(kind)]


def _through_a_url(selection: Selection) -> tuple[Selection, tuple[str, ...]]:
    return from_query(dict(parse_qsl(urlencode(to_query(selection)), keep_blank_values=True)), PAGES)


@given(SELECTIONS)
def test_a_selection_goes_through_a_url_and_back_without_loss(selection: Selection) -> None:
    assert _through_a_url(selection) == (selection, ())


@given(st.dictionaries(st.sampled_from([*PARAMETERS, "left_out", "nonsense"]), st.text(max_size=30)))
def test_any_url_gives_a_selection_and_names_what_it_could_not_read(query: dict[str, str]) -> None:
    selection, unread = from_query(query, PAGES)
    assert set(unread) <= set(PARAMETERS)
    assert from_query(to_query(selection), PAGES) == (selection, ())


def test_no_two_options_have_the_same_parameter_and_each_page_has_its_own() -> None:
    assert len({*PARAMETERS, "page", "left_out"}) == len(PARAMETERS) + 2
    assert len(set(PAGES)) == len(PAGES)


def test_a_pages_options_are_its_own_and_at_their_defaults_they_are_no_choice() -> None:
    chosen = Selection().updated(weights.Choices, circuit="ov", table=True)
    assert chosen.table
    assert chosen.choices_of(weights.Choices) == weights.Choices(circuit="ov")
    assert Selection().choices_of(weights.Choices) == weights.Choices()
    assert chosen.updated(weights.Choices, circuit="qk") == Selection(table=True)
    assert Selection(choices=frozenset({weights.Choices()})) == Selection()
    assert hash(chosen) == hash(Selection(table=True, choices=frozenset({weights.Choices(circuit="ov")})))
    for page in (None, weights.Choices):
        with pytest.raises(TypeError, match="colour"):
            Selection().updated(page, colour="red")


def test_what_is_read_of_a_page_needs_its_page_and_spoils_nothing_else() -> None:
    query = {"circuit": "ov", "circuit_token": " the", "prompt": "a"}
    chosen = Selection(prompt="a").updated(weights.Choices, circuit="ov", circuit_token=" the")
    assert from_query(query, PAGES) == (chosen, ())
    assert from_query(query) == (Selection(prompt="a"), ())
    unreadable = {**query, "circuit": "both"}
    assert from_query(unreadable, PAGES) == (chosen.updated(weights.Choices, circuit="qk"), ("circuit",))


def test_what_is_one_of_the_model_or_of_the_prompt_goes_with_it() -> None:
    of_model = {inside.Choices(component=1), attention.Choices(pair=((0, 1), (0, 2)))}
    of_prompt = {flow.Choices(flow_chosen=(1, 2)), generate.Choices(written=(7,), step=1)}
    of_translator, of_source = translate.Choices(pair_heads=((0, 1),)), translate.Choices(pair_queries=(1,))
    every = Selection(choices=frozenset({*of_model, *of_prompt, replace(of_source, pair_heads=((0, 1),))}))
    assert every.after(Change()) == every
    assert every.after(Change(model=True)).choices == every.choices - of_model
    assert every.after(Change(prompt=True)).choices == every.choices - of_prompt
    assert every.after(Change(translator=True)).choices == {*of_model, *of_prompt, of_source}
    assert every.after(Change(source=True)).choices == {*of_model, *of_prompt, of_translator}


def test_heads_and_layers_of_a_page_that_are_not_there_are_dropped() -> None:
    extent = Extent(n_layers=3, n_heads=2, n_places=5, deepest=4)
    there = Selection().updated(patching.Choices, patch_layer=2, patch_head=(2, 1), patch_map="attn_out")
    there = there.updated(prompts.Choices, statistic_head=(2, 1))
    assert there.within(extent) == there
    far = there.updated(patching.Choices, patch_layer=3, patch_head=(2, 2))
    far = far.updated(prompts.Choices, statistic_head=(3, 0))
    assert far.within(extent) == Selection().updated(patching.Choices, patch_map="attn_out")


def test_unreadable_values_are_left_out_and_the_rest_is_kept() -> None:
    query = {"prompt": "hello", "heads": "1.2 x", "queries": "-1", "bos": "yes", "measure": "colour", "keys": "3"}
    selection, unread = from_query(query, PAGES)
    assert selection == Selection(prompt="hello", keys=(3,))
    assert set(unread) == {"heads", "queries", "bos", "measure"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_new", ["0", str(generate.MAX_NEW + 1), "-1", "2.5", "many"]),
        ("temperature", ["-0.1", "2.1", "nan", "inf", "hot"]),
        ("top_k", ["0", "-5", "1000000"]),
        ("top_p", ["0", "0.001", "1.1", "nan"]),
        ("seed", ["-1", "1e3"]),
        ("written", ["1 -2", "x", " ".join(["7"] * (generate.MAX_NEW + 1))]),
    ],
)
def test_ways_to_write_out_of_range_are_left_out(name: str, values: list[str]) -> None:
    for value in values:
        assert from_query({name: value, "step": "3"}, PAGES) == (Selection().updated(generate.Choices, step=3), (name,))


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
    assert from_query({"pair": "0.1 0.2"}, PAGES)[0].choices_of(attention.Choices).pair == ((0, 1), (0, 2))
    assert from_query({"pair": "0.1"}, PAGES)[1] == ("pair",)


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
    chosen = Selection(heads=((0, 1), (9, 0)), queries=(4, 5), keys=(5,), layer=3, position=4)
    chosen = chosen.updated(attention.Choices, pair=((0, 1), (9, 0)))
    kept = chosen.within(Extent(n_layers=3, n_heads=2, n_places=5, deepest=3))
    assert kept == Selection(heads=((0, 1),), queries=(4,), keys=(), layer=3, position=4)


def test_if_no_chosen_head_exists_the_page_chooses() -> None:
    assert Selection(heads=((9, 9),)).within(Extent(n_layers=2, n_heads=2, n_places=5, deepest=2)).heads is None
    assert Selection(heads=()).within(Extent(n_layers=2, n_heads=2, n_places=5, deepest=2)).heads == ()


def test_a_b_that_is_not_there_is_dropped() -> None:
    alone = Selection(model_b="other", side="b")
    assert alone.within(Extent(n_layers=1, n_heads=1, n_places=1, deepest=1)) == Selection()
    compared = replace(alone, prompt_b="b")
    assert compared.within(Extent(n_layers=1, n_heads=1, n_places=1, deepest=1)) == compared
