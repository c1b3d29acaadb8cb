"""Runs with edits as the pages have them, against the library's own run with the same edits."""

import io
import json
import re
from html import unescape
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch

from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.export import Export
from headlight.app.frame import checks
from headlight.app.pages.attention import EXPORT as ATTENTION
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.parts import panels
from headlight.app.runs import comparisons, runs
from headlight.app.runs.cost import cost
from headlight.app.selection import Selection
from headlight.app.server.settings import settings as server_settings
from headlight.model.attention.fields import attention_of
from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, Edit, FreezePatterns, Patch, Steer, describe
from headlight.model.runs.edits.editing import run_with_edits
from headlight.model.runs.head import attend
from headlight.model.runs.kept import STREAMS
from headlight.model.runs.run import EDITED, Run

PROMPT, OTHER = "one two three one two three", "one three two three two one"
EDITS: dict[str, tuple[Edit, ...]] = {
    "heads": (AblateHeads(((0, 1), (2, 3))),),
    "mean": (AblateHeads(((1, 1),), "mean"),),
    "resample": (AblateHeads(((1, 1),), "resample", OTHER),),
    "edge": (CutEdge((1, 2), 4, 3),),
    "edge, renormalised": (CutEdge((1, 2), 4, 3, True),),
    "frozen": (Drop(0, "MLP"), FreezePatterns()),
    "patched stream": (Patch("blocks.1.hook_resid_pre", OTHER, (2, 3)),),
    "patched first stream": (Patch("blocks.0.hook_resid_pre", OTHER, (1,)),),
    "patched between": (Patch("blocks.2.hook_resid_mid", OTHER),),
    "patched last stream": (Patch("blocks.2.hook_resid_post", OTHER),),
    "patched pattern": (Patch("blocks.1.attn.hook_pattern", OTHER, (3,), 2),),
    "patched scores": (Patch("blocks.1.attn.hook_attn_scores", OTHER),),
    "steered": (Steer(1, PROMPT, OTHER, 2.0, (3,)), Steer(2, OTHER, PROMPT, 0.0, mode="scale")),
    "dropped": (Drop(1),),
}


def _run(folder: str, edits: tuple[Edit, ...]) -> Run:
    return runs.run(folder, PROMPT, True, edits)


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_an_edited_run_is_the_librarys_own(folder: str, edits: tuple[Edit, ...]) -> None:
    run = _run(folder, edits)
    with torch.inference_mode():
        logits, cache = run_with_edits(run.model, run.tokens[None], edits, prepend_bos=True)
    # The last row alone instead of all rows may be summed in another order.
    torch.testing.assert_close(run.next_logits, logits[0, -1], rtol=1e-5, atol=1e-5)
    for name, kept in run.cache.items():
        assert torch.equal(kept, cache[name][0]), name
    states = [cache["resid_pre", 0], *(cache["resid_post", layer] for layer in range(run.cfg.n_layers))]
    for stream, state in zip(run.streams(), states, strict=True):
        assert torch.equal(stream, state[0])
    for layer in range(run.cfg.n_layers):
        for head in range(run.cfg.n_heads):
            attended = attend(run, layer, head)
            # One head's product instead of all heads' at once may round differently: float32's 1e-7, over d_head sums.
            torch.testing.assert_close(attended.pattern, cache["pattern", layer][0, head], rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(attended.scores, cache["attn_scores", layer][0, head], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_what_parts_and_edits_write_adds_up_to_the_final_stream(folder: str, edits: tuple[Edit, ...]) -> None:
    run = _run(folder, edits)
    names, parts = zip(*run.writes(), strict=True)
    *_, final = run.streams()
    assert (names[-1] == EDITED) == any(name.endswith(STREAMS) for name in run.cache)
    # Eight float32 numbers of size 1, added in another order: about 1e-6.
    torch.testing.assert_close(torch.stack(parts).sum(0), final, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_the_components_of_an_edited_run_pass_the_check(folder: str, edits: tuple[Edit, ...]) -> None:
    sums = checks.sums(_run(folder, edits))
    assert float(sums.components.values) < 1e-4  # as above, in a pass of its own
    cut = edits == EDITS["edge"]  # the one edit after which a row does not sum to 1
    assert (float(sums.rows.values) > 1e-4) == cut


def test_edits_that_change_nothing_change_nothing(folder: str) -> None:
    clean = runs.run(folder, PROMPT, True)
    same = _run(folder, (FreezePatterns(), Patch("blocks.1.hook_resid_pre", PROMPT)))
    assert torch.equal(same.next_logits, clean.next_logits)
    assert torch.equal(same.thumbnails, clean.thumbnails)


def test_patching_the_embeddings_is_running_the_other_prompt(folder: str) -> None:
    patched, other = _run(folder, (Patch("hook_embed", OTHER),)), runs.run(folder, OTHER, True)
    assert torch.equal(patched.next_logits, other.next_logits)
    assert torch.equal(patched.thumbnails, other.thumbnails)


def test_runs_with_other_edits_are_other_runs(folder: str, settings: dict[str, object]) -> None:
    edited = _run(folder, EDITS["dropped"])
    assert _run(folder, EDITS["dropped"]) is edited
    assert _run(folder, EDITS["heads"]) is not edited
    clean = _run(folder, ())
    assert clean is not edited
    assert len({edited.key, clean.key, _run(folder, EDITS["heads"]).key}) == 3
    assert edited.keep("x", lambda: 1) != clean.keep("x", lambda: 2)


def test_a_row_that_is_no_softmax_of_its_scores_has_weights_alone(folder: str) -> None:
    run = _run(folder, EDITS["edge"])
    assert attention_of(run, (1, 2)).logsumexp.isnan().nonzero().tolist() == [[4]]
    assert not attention_of(run, (1, 1)).logsumexp.isnan().any()
    assert panels.of_run(run, (1, 2)).logsumexp.shape == (len(run.tokens),)


def test_b_is_a_with_the_edits_that_are_on(folder: str) -> None:
    chosen = Selection(model=folder, prompt=PROMPT, edits=EDITS["steered"] + EDITS["dropped"], edits_off=(0, 1))
    comparison = comparisons.for_selection(chosen)
    assert comparison.b is _run(folder, EDITS["dropped"])
    assert comparison.a.edits == ()
    assert comparison.labels == comparison.a.labels
    assert (
        comparisons.for_selection(Selection(model=folder, prompt=PROMPT, edits=EDITS["dropped"], edits_off=(0,))).b
        is None
    )
    assert comparisons.for_selection(
        Selection(model=folder, prompt=PROMPT, prompt_b=OTHER, edits=EDITS["dropped"])
    ).b is runs.run(folder, OTHER, True)


WRONG: list[tuple[Edit, str]] = [
    (AblateHeads(((7, 0),)), "B: Edit 2: There is no head L7H0: this model has layers 0 to 2 of heads 0 to 4"),
    (Patch("blocks.0.attn.hook_pattern", "one"), "B: Edit 2: The prompt 'one' has 2 tokens and the edited one 7"),
    (Patch("blocks.0.hook_resid_pre", PROMPT, (99,)), "B: Edit 2: There is no position 99"),
    (Patch("ln_final.hook_normalized", PROMPT), "B: Edit 2: the pages show what comes before the last LayerNorm"),
    (Patch("unembed.hook_out", PROMPT), "B: Edit 2: the pages show what comes before the last LayerNorm"),
    (Patch("hook_embed", ""), "B: Edit 2 takes from another prompt. The prompt is empty"),
    (Steer(0, "long " * 200, PROMPT), "B: Edit 2 takes from another prompt. The prompt has 202 tokens"),
]


@pytest.mark.parametrize(("edit", "said"), WRONG)
def test_what_is_wrong_with_an_edit_is_said_of_it(folder: str, edit: Edit, said: str) -> None:
    with pytest.raises(HeadlightError, match=said):
        comparisons.for_selection(Selection(model=folder, prompt=PROMPT, edits=(*EDITS["dropped"], edit)))


def test_transformers_is_not_asked_about_edits(folder: str) -> None:
    assert Path(folder).is_dir()
    with pytest.raises(InputError, match="transformers has no edits"):
        checks.differences_from_transformers(_run(folder, EDITS["dropped"]))


def test_a_run_whose_edits_need_too_many_others_is_refused(folder: str, settings: dict[str, object]) -> None:
    run = runs.run(folder, PROMPT, True)
    settings["run_seconds"] = 2.5 * cost(run.cfg, len(run.tokens)).seconds
    server_settings.cache_clear()
    assert _run(folder, (Patch("hook_embed", OTHER),)).edits
    with pytest.raises(HeadlightError, match=r"the 2 that its edits take from .* Switch some of the edits off"):
        _run(folder, (Patch("hook_embed", OTHER), Patch("hook_pos_embed", OTHER)))


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS])
def test_what_is_taken_along_says_which_edits_were_made(folder: str, export: Export) -> None:
    chosen = Selection(model=folder, prompt=PROMPT, edits=(*EDITS["steered"], *EDITS["edge"]), heads=((1, 2),))
    comparison = comparisons.for_selection(chosen)
    about = json.loads(ZipFile(io.BytesIO(archive(comparison, export.data(comparison, chosen)))).read("about.json"))
    assert about["runs"]["A"]["edits"] == []
    assert about["runs"]["B"]["edits"] == list(map(repr, chosen.edits))
    said = "; ".join(map(describe, chosen.edits))
    assert f"edited: {said}" in export.page(comparison, chosen).decode()
    picture = style.file(lambda: export.picture(comparison, chosen, style.LIGHT), style.LIGHT, "svg").decode()
    lines = re.findall(r">([^<>]*)</text>", picture)  # of which the last ones are those below the picture
    assert f"B is edited: {said}" in " ".join(map(unescape, lines))
