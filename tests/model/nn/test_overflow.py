"""A pass whose numbers become infinite says so, and where."""

import pytest
import torch

from headlight.model import load, run_prompt
from headlight.model.base.errors import NotFiniteError
from headlight.model.nn.overflow import check_finite

PROMPT = "The old man"


@pytest.mark.parametrize(
    ("parameter", "where"),
    [
        ("blocks.1.attn.b_O", r"layer 1 \(blocks\.1\.hook_attn_out\)"),
        ("blocks.0.mlp.b_out", r"layer 0 \(blocks\.0\.hook_mlp_out\)"),
        ("blocks.2.attn.b_K", r"layer 2 \(blocks\.2\.attn\.hook_k\)"),
        ("pos_embed.W_pos", "hook_pos_embed"),
        ("ln_final.b", "the logits"),
    ],
)
def test_the_first_activation_that_is_infinite_is_named(parameter: str, where: str) -> None:
    model = load("mini")
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state[parameter][..., 0] = torch.inf
    model.load_state_dict(state, assign=True)
    with pytest.raises(NotFiniteError, match=f"infinite or NaN; the first are in {where}"):
        run_prompt(model, PROMPT)


def test_a_stream_that_overflows_though_no_part_of_it_does_is_told_too() -> None:
    part = torch.full((2, 3), 3e38)
    with pytest.raises(NotFiniteError, match="the first are in the last layer's stream"):
        check_finite({"blocks.0.hook_attn_out": part, "blocks.0.hook_mlp_out": part}, part + part, torch.ones(3))


def test_finite_numbers_are_let_through() -> None:
    check_finite({}, torch.full((2, 3), 3e38), torch.full((3,), -3e38))
