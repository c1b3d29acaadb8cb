"""What the first minute tells of a run, against a pass with hooks written out here."""

import pytest
import torch

from headlight.app.frame import first_minute
from headlight.app.runs import prompts
from headlight.app.selection import Selection
from headlight.model import load, run_prompt

TOLERANCE = 2e-4  # of two ways to sum the same products


def test_its_numbers_are_the_model_s() -> None:
    prompt = prompts.first_prompt("mini")
    minute = first_minute.read(Selection(model="mini", prompt=prompt))
    assert minute is not None
    model = load("mini")
    tokens = run_prompt(model, prompt).tokens[None]
    logits, cache = model.run_with_cache(tokens)
    chances = logits[0, -1].softmax(-1)
    assert minute["guesses"][0][1] == pytest.approx(float(chances.max()), abs=TOLERANCE)

    def zero(z: torch.Tensor, hook: object) -> torch.Tensor:
        z[:, :, :2] = 0
        return z

    without = model.run_with_hooks(tokens, fwd_hooks=[("blocks.1.attn.hook_z", zero)])[0, -1].softmax(-1)
    assert minute["copying"] == ["L1H0", "L1H1"]
    patterns = torch.stack([cache["pattern", layer][0] for layer in range(model.cfg.n_layers)])
    back = patterns.diagonal(-1, -2, -1).mean(-1)
    first = patterns[..., 1:, 0].mean(-1)
    assert dict(minute["kinds"]) == {
        "find an earlier copy": ["L1H0", "L1H1"],
        "look one step back": [f"L{layer}H{head}" for layer, head in (back >= 0.3).nonzero().tolist()],
        "rest on the first token": [f"L1H{head}" for head in (2, 3)],
    }
    assert (first[1, 2:] >= 0.3).all()
    assert (first >= 0.3).sum() == 4  # with the two that copy
    assert minute["after"]["chance"] == (pytest.approx(float(without[chances.argmax()]), abs=TOLERANCE), "0.1%")
    assert minute["after"]["guesses"][0][1] == pytest.approx(float(without.max()), abs=TOLERANCE)

    layer, head = 1, int(minute["head"][-1])
    pattern, ids = cache["pattern", layer][0, head], tokens[0].tolist()
    for row in minute["rows"]:
        query, key = row["query"], row["key"]
        assert ids[query] in ids[:query]
        assert row["weight"] == pytest.approx(float(pattern[query].max()), abs=TOLERANCE)
        assert pattern[query].argmax() == key
        assert row["found"] == (ids[key - 1] == ids[query] and key > 0)
    assert len(minute["rows"]) == sum(token in ids[:place] for place, token in enumerate(ids))


@pytest.mark.parametrize(
    "chosen",
    [
        Selection(model="mini", prompt="The apples near the ring"),  # nothing is repeated
        Selection(model="mini", prompt="one two one two", prompt_b="two one two one"),
    ],
    ids=["no repeat", "two prompts"],
)
def test_there_may_be_nothing_to_tell(chosen: Selection) -> None:
    assert first_minute.read(chosen) is None
