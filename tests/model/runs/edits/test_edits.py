"""Edits as data: texts that come back, texts that are refused, and edits that do not fit a model or a prompt."""

import base64
import json
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.model.base.errors import InputError
from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.edits import (
    KINDS,
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    EditDirection,
    EditFeature,
    FreezePatterns,
    Patch,
    Steer,
    check,
    describe,
    from_text,
    sources,
    to_text,
    touches,
)
from tests.model.oracles import TINY

INDEX = st.integers(0, 999_999)
HEAD = st.tuples(INDEX, INDEX)
INDICES = st.lists(INDEX, max_size=5, unique=True).map(tuple)
TEXT = st.text(max_size=40)
ALIGN = st.sampled_from(["tokens", "position"])
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
# Classes and their fields, because the annotations of what is built are checked with the help of chance, which
# Hypothesis does not want inside a strategy.
EDITS: st.SearchStrategy[tuple[type[Edit], tuple[Any, ...]]] = st.one_of(
    st.tuples(
        st.just(AblateHeads),
        st.tuples(
            st.lists(HEAD, max_size=5, unique=True).map(tuple),
            st.sampled_from(["zero", "mean", "resample"]),
            TEXT,
            st.lists(TEXT, max_size=4).map(tuple),
            ALIGN,
        ),
    ),
    st.tuples(st.just(CutEdge), st.tuples(HEAD, INDEX, INDEX, st.booleans())),
    st.tuples(st.just(FreezePatterns), st.tuples(INDICES)),
    st.tuples(st.just(Patch), st.tuples(TEXT, TEXT, INDICES, st.none() | INDEX, ALIGN)),
    st.tuples(st.just(Steer), st.tuples(INDEX, TEXT, TEXT, NUMBER, INDICES, st.sampled_from(["add", "scale"]))),
    st.tuples(
        st.just(EditDirection),
        st.tuples(TEXT, INDICES, st.sampled_from(["add", "project_out", "cap"]), NUMBER, INDICES),
    ),
    st.tuples(
        st.just(AblateNeurons),
        st.tuples(
            st.lists(HEAD, max_size=5, unique=True).map(tuple),
            st.sampled_from(["zero", "mean", "resample"]),
            TEXT,
            INDICES,
            ALIGN,
        ),
    ),
    st.tuples(st.just(ClampNeurons), st.tuples(st.lists(HEAD, max_size=5, unique=True).map(tuple), NUMBER, INDICES)),
    st.tuples(st.just(Drop), st.tuples(INDEX, st.sampled_from(["attention", "MLP", "layer"]))),
    st.tuples(
        st.just(EditFeature), st.tuples(TEXT, TEXT, INDEX, st.sampled_from(["ablate", "clamp", "add"]), NUMBER, INDICES)
    ),
)

CFG = TransformerConfig(**TINY)
N_TOKENS = 7


@given(EDITS)
def test_an_edit_comes_back_from_its_text_which_has_no_space(parts: tuple[type[Edit], tuple[Any, ...]]) -> None:
    edit = parts[0](*parts[1])
    text = to_text(edit)
    assert from_text(text) == edit
    assert not set(text) & set(" \n\t")
    assert hash(from_text(text)) == hash(edit)


KIND = "|".join(KINDS)


@given(st.text(max_size=60) | st.from_regex(rf"({KIND})(:[\w.,%+-]*){{0,7}}", fullmatch=True))
def test_any_text_is_an_edit_or_is_refused(text: str) -> None:
    edit = None
    with suppress(InputError):
        edit = from_text(text)
    assert edit is None or from_text(to_text(edit)) == edit


def test_links_from_before_alignment_still_open() -> None:
    assert from_text("ablate:0.1:mean:") == AblateHeads(((0, 1),), "mean")
    assert from_text("patch:hook_embed:a+b:1,2:") == Patch("hook_embed", "a b", (1, 2))


def _packed(text: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text, 9)).decode().rstrip("=")


HOSTILE = [
    "",
    "ablate:1.2:mean::nonsense:tokens",
    f"ablate:1.2:mean::{_packed(b'{}')}:tokens",
    f"ablate:1.2:mean::{_packed(b'[1]')}:tokens",
    f"ablate:1.2:mean::{_packed(b'[')}:tokens",
    f"ablate:1.2:mean::{_packed(b'[' + b' ' * 2_000_000 + b']')}:tokens",
    f"ablate:1.2:mean::{_packed(bytes(json.dumps([''] * 2001), 'ascii'))}:tokens",
    "ablate:1.2:mean::" + _packed(rb'["\ud800"]') + ":tokens",
    "patch:hook_embed:a:::middle",
    "ablate",
    "ablate:1.2:zero",
    "ablate:1.2:fire:",
    "ablate:-1.2:zero:",
    "ablate:1.2.3:zero:",
    "ablate:1.9999999:zero:",
    "ablate:\u0661.2:zero:",
    "cut:1.2:3",
    "cut:1.2:3:4:yes",
    "steer:0:a:b:nan::add",
    "steer:0:a:b:inf::add",
    "steer:0:%ff:b:1.0::add",
    "drop:0:everything",
    "feature:a:b:1:fire:0.0:",
    "feature:a:b:-1:add:0.0:",
    "feature:a:b:1:add:nan:",
    "neurons:1.2:zero::",
    "neurons:1.2.3:zero:::tokens",
    "neurons:1.2:fire:::tokens",
    "clamp:1.2:nan:",
    "clamp:1.2:1e999:",
    "import os",
    "freeze:" + ",".join(map(str, range(5000))),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an edit"):
        from_text(text)


WRONG: list[tuple[Edit, str]] = [
    (AblateHeads(()), "Choose at least one"),
    (AblateHeads(((0, 0), (2, 1))), r"no head L2H1: .* layers 0 to 1 of heads 0 to 2"),
    (AblateHeads(((0, 3),)), r"no head L0H3"),
    (CutEdge((0, 0), 2, 3), "comes after it"),
    (CutEdge((0, 0), 7, 3), r"no query 7: the prompt has tokens 0 to 6"),
    (CutEdge((5, 0), 2, 1), r"no head L5H0"),
    (FreezePatterns((0, 2)), r"no layer 2: this model has layers 0 to 1"),
    (Patch("hook_embed", "x", (3, 7)), r"no position 7: this prompt has positions 0 to 6"),
    (Patch("blocks.0.attn.hook_z", "x", (), 3), r"no head 3: this layer has heads 0 to 2"),
    (Steer(2, "x", "y"), r"no layer 2: this model has layers 0 to 1"),
    (Steer(0, "x", "y", positions=(9,)), r"no position 9"),
    (Steer(0, "x", "y", factor=1e9), "from -1000 to 1000"),
    (Steer(0, "x", "y", factor=float("nan")), "from -1000 to 1000"),
    (EditDirection("x", (3,)), r"no layer 3: this stream has layers 0 to 2"),
    (EditDirection("x", factor=1e9), "from -1000 to 1000"),
    (EditDirection("x", positions=(9,)), "no position 9"),
    (Drop(3), r"no layer 3"),
    (AblateNeurons(()), "Name at least one, as L2N17"),
    (AblateNeurons(((0, 31),)), r"no neuron L0N31: this model has layers 0 to 1 of neurons 0 to 30"),
    (ClampNeurons(((2, 0),), 1.0), r"no neuron L2N0"),
    (ClampNeurons(((1, 0),), 1e9), "from -1,000,000 to 1,000,000"),
    (ClampNeurons(((1, 0),), 1.0, (7,)), "no position 7"),
]


@pytest.mark.parametrize(("edit", "said"), WRONG)
def test_an_edit_that_does_not_fit_is_refused_with_what_there_is(edit: Edit, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(edit, CFG, N_TOKENS)


def test_a_model_without_mlps_has_none_to_drop() -> None:
    cfg = TransformerConfig(**TINY | {"attn_only": True, "d_mlp": None})
    with pytest.raises(InputError, match="no MLPs"):
        check(Drop(0, "MLP"), cfg, N_TOKENS)
    with pytest.raises(InputError, match="no MLPs, only attention, and so no neurons"):
        check(AblateNeurons(((0, 0),)), cfg, N_TOKENS)


SAID: list[tuple[Edit, str]] = [
    (AblateHeads(((0, 1), (3, 2)), "mean"), "L0H1, L3H2 ablated (mean)"),
    (CutEdge((1, 2), 5, 3), "L1H2: edge from 5 to 3 cut"),
    (CutEdge((1, 2), 5, 3, True), "L1H2: edge from 5 to 3 cut, row renormalised"),
    (FreezePatterns(), "patterns of every layer frozen"),
    (FreezePatterns((0, 2)), "patterns of L0, L2 frozen"),
    (Patch("blocks.1.attn.hook_z", "x", (3, 4), 2), "blocks.1.attn.hook_z of H2 patched at 3, 4"),
    (Patch("hook_embed", "x"), "hook_embed patched at every position"),
    (Steer(1, "x", "y", 1.5, (2,)), "stream before L1 plus 1.5 × direction at 2"),
    (Steer(1, "x", "y", 0.0, mode="scale"), "stream before L1 with 0 × its part along direction at every position"),
    (EditDirection("plural@0a", (1, 2), "add", -1.5, (2,)), "stream before L1, L2 plus -1.5 × plural at 2"),
    (
        EditDirection("plural@0a", (), "project_out"),
        "stream before every layer of the direction without its part along plural at every position",
    ),
    (EditDirection("x", (0,), "cap", 0.5), "stream before L0 with its part along x capped at 0.5 at every position"),
    (Drop(2), "L2 dropped"),
    (Drop(2, "MLP"), "L2 MLP dropped"),
    (AblateNeurons(((0, 3), (2, 1)), "mean"), "L0N3, L2N1 ablated (mean) at every position"),
    (ClampNeurons(((0, 3),), 2.5, (1, 2)), "L0N3 clamped to 2.5 at 1, 2"),
]


@pytest.mark.parametrize(("edit", "said"), SAID)
def test_an_edit_in_words(edit: Edit, said: str) -> None:
    assert describe(edit) == said


TOUCHED: list[tuple[Edit, list[bool]]] = [  # L0H1, L1H1, L1H2
    (AblateHeads(((0, 1), (1, 2))), [True, False, True]),
    (CutEdge((1, 1), 2, 0), [False, True, False]),
    (FreezePatterns(), [True, True, True]),
    (FreezePatterns((1,)), [False, True, True]),
    (Patch("blocks.1.attn.hook_z", "x", (), 2), [False, False, True]),
    (Patch("blocks.1.ln1.hook_scale", "x"), [False, True, True]),
    (Patch("blocks.1.hook_resid_pre", "x"), [False, False, False]),
    (Steer(1, "x", "y"), [False, False, False]),
    (Drop(1), [False, False, False]),
    (AblateNeurons(((0, 1),)), [False, False, False]),
]


@pytest.mark.parametrize(("edit", "expected"), TOUCHED)
def test_which_heads_an_edit_reaches_into(edit: Edit, expected: list[bool]) -> None:
    assert [touches(edit, head, CFG) for head in ((0, 1), (1, 1), (1, 2))] == expected


def test_the_prompts_that_an_edit_takes_from_are_named() -> None:
    assert sources(AblateHeads(((0, 0),), "mean", "unused")) == ()
    assert sources(AblateHeads(((0, 0),), "resample", "x")) == ("x",)
    assert sources(Patch("hook_embed", "x")) == ("x",)
    assert sources(AblateNeurons(((0, 0),), "zero", "unused")) == ()
    assert sources(AblateNeurons(((0, 0),), "resample", "x")) == ("x",)
    assert sources(Steer(0, "x", "y")) == ("x", "y")
