"""A direction that acts: on every page, A beside B, and in *Generate*, against the same arithmetic in hooks."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import Tensor

from headlight.app.pages.generate import generation
from headlight.app.pages.generate.choices import Choices
from headlight.app.registry import VIEWS
from headlight.app.runs import directions, models_folder, runs
from headlight.model import load
from headlight.model.directions.keeping import keep_direction
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import Action, EditDirection
from headlight.model.runs.edits.texts import to_text
from tests.app.test_page import SECONDS
from tests.places import MAIN

PROMPT, LAYER, N_NEW = "The key near the door", 2, 4
GREEDY = Choices(n_new=N_NEW, temperature=0.0, stop=False)
MEASURED = "directions", "experiments", "heads"  # a study of its own each, which does not look at the prompt's run


@pytest.fixture
def direction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Direction:
    """Kept in a file, as of another session."""
    monkeypatch.setenv(directions.DATA, str(tmp_path))
    models_folder.forget()
    vector = torch.randn(load("mini").cfg.d_model, generator=torch.Generator().manual_seed(2)) * 2
    kept = Direction("random", {LAYER: vector}, model="mini")
    folder = directions.folder()
    assert folder is not None
    keep_direction(kept, folder)
    return kept


def by_hand(vector: Tensor, action: Action, factor: float) -> Callable[[Tensor, object], Tensor]:
    """The stream after an edit, by the formulas."""
    unit = vector / vector.norm()

    def change(stream: Tensor, hook: object) -> Tensor:
        along = stream @ unit
        if action == "add":
            return stream + factor * vector
        over = along if action == "project_out" else (along - factor * vector.norm()).clamp(min=0)
        return stream - over[..., None] * unit

    return change


@pytest.mark.parametrize(("action", "factor"), [("add", -1.5), ("project_out", 1.0), ("cap", -0.25)])
def test_generate_writes_what_a_loop_of_hooks_does(direction: Direction, action: Action, factor: float) -> None:
    edit = EditDirection(direction.identity, (LAYER,), action, factor)
    written = generation.continuation_of(runs.run("mini", PROMPT, True, (edit,)), GREEDY)
    model, hook = load("mini"), by_hand(direction.vectors[LAYER], action, factor)
    tokens = model.to_tokens(PROMPT, True)
    with torch.inference_mode():
        for _ in range(N_NEW):
            logits = model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{LAYER}.hook_resid_pre", hook)])
            tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
    assert written.tokens.tolist() == tokens[0, -N_NEW:].tolist()


@pytest.mark.thorough
@pytest.mark.usefixtures("unchecked")
def test_every_page_takes_a_run_with_a_kept_direction_alone_and_beside_another(direction: Direction) -> None:
    edit = EditDirection(direction.identity, (LAYER,), "add", 1.0)
    for view in VIEWS:
        for more in ({}, {"prompt_b": "The keys near the door"}):
            if view.slug == "translate" or (more and view.slug in MEASURED):
                continue
            at = AppTest.from_file(MAIN, default_timeout=SECONDS)
            for name, value in {"page": view.slug, "prompt": PROMPT, "edits": to_text(edit), **more}.items():
                at.query_params[name] = value
            at.run()
            assert not at.exception, view.slug
            assert at.session_state["headlight"].active.edits == (edit,), view.slug
            assert not [text.value for text in at.text if "not open" in text.value], view.slug
