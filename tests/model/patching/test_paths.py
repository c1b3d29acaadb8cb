"""Path patching, against two runs with hooks in which everything else is frozen."""

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.hooks import HookPoint
from headlight.model.patching import ReadAs, path_differences, path_map
from headlight.model.patching.grids import row_bytes
from headlight.recipes.teaching_weights import induction_circuit
from tests.model.oracles import VARIANTS
from tests.model.patching.cases import N_POS, TOLERANCE, Case, LogitDifference, Patching, case

pytestmark = pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way

Head = tuple[int, int]


def two_runs(each: Case, sender: Head, receiver: Head, read: ReadAs, through_mlps: bool) -> float:
    """Everything but the sender held at A's, the receiver's input kept, and A run with that input."""
    _, a = each.model.run_with_cache(each.a)
    _, b = each.model.run_with_cache(each.b)
    frozen = ("attn.hook_z",) if through_mlps else ("attn.hook_z", "hook_mlp_out")

    def hold(activation: Tensor, hook: HookPoint) -> Tensor:
        frozen = a[hook.name].clone()
        if hook.name == f"blocks.{sender[0]}.attn.hook_z":
            frozen[:, :, sender[1]] = b[hook.name][:, :, sender[1]]
        return frozen

    kept = {}

    def keep(activation: Tensor, hook: HookPoint) -> None:
        kept["input"] = activation[:, :, receiver[1]].clone()

    def put(activation: Tensor, hook: HookPoint) -> None:
        activation[:, :, receiver[1]] = kept["input"]

    name = f"blocks.{receiver[0]}.attn.hook_{read}"
    each.model.run_with_hooks(each.a, [(lambda name: name.endswith(frozen), hold), (name, keep)])
    return each.difference(each.model.run_with_hooks(each.a, [(name, put)]))


@pytest.mark.parametrize("through_mlps", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_path_is_what_two_runs_give(variant: str, through_mlps: bool) -> None:
    each = case(variant)
    senders = [(1, 2), (0, 0), (1, 0), (0, 2)]
    read: ReadAs
    for read in ("q", "k", "v"):
        differences = path_differences(each.patching(), senders, (2, 1), read, through_mlps)
        expected = [two_runs(each, sender, (2, 1), read, through_mlps) for sender in senders]
        torch.testing.assert_close(differences, torch.tensor(expected, dtype=torch.float64), **TOLERANCE)


def test_a_map_of_paths_is_a_share_of_all_earlier_heads() -> None:
    each = case()
    patching = each.patching()
    shares = path_map(patching, (1, 2), "v")
    assert shares.axes == ("layer", "head")
    assert shares.unit == "share"
    expected = [
        (two_runs(each, (0, head), (1, 2), "v", False) - patching.a) / (patching.b - patching.a) for head in range(3)
    ]
    torch.testing.assert_close(shares.values, torch.tensor([expected], dtype=torch.float64), **TOLERANCE)


def test_few_senders_at_once_give_what_all_at_once_give() -> None:
    patching = case().patching()
    senders = [(layer, head) for layer in range(2) for head in range(3)]
    small = 3 * row_bytes(patching.model.cfg, N_POS)
    one_by_one = path_differences(patching, senders, (2, 0), "k", at_once=small)
    torch.testing.assert_close(one_by_one, path_differences(patching, senders, (2, 0), "k"), **TOLERANCE)


def test_the_induction_head_reads_the_previous_token_head_as_its_key() -> None:
    """Weights written by hand: L0H0 tells each position which token came before, and L1H0's key reads that.

    In A token 5 followed 3, in B it followed 4: at the last token, a 3, A predicts 5, and B nothing.
    """
    model = induction_circuit()
    a, b = torch.tensor([[0, 3, 5, 7, 8, 3]]), torch.tensor([[0, 4, 5, 7, 8, 3]])
    patching = Patching(model, a, b, LogitDifference(5, 9, 5))
    shares = {read: path_map(patching, (1, 0), read).values for read in ("q", "k", "v")}
    expected = {"q": [0, 0, 0], "k": [1, 0, 0], "v": [0, 0, 0]}
    for read, share in shares.items():
        torch.testing.assert_close(share, torch.tensor([expected[read]]).float(), rtol=0, atol=1e-4)  # weights of e^-30


@pytest.mark.parametrize(
    ("sender", "receiver", "message"),
    [
        ((2, 0), (2, 1), "Nothing goes to L2H1 from L2H0"),
        ((0, 0), (3, 0), "There is no head L3H0"),
        ((0, 5), (1, 0), "There is no head L0H5"),
    ],
)
def test_paths_that_there_are_not(sender: Head, receiver: Head, message: str) -> None:
    with pytest.raises(InputError, match=message):
        path_differences(case().patching(), [sender], receiver, "q")


def test_no_head_comes_before_the_first_layer() -> None:
    with pytest.raises(InputError, match="Nothing goes to L0H1 from any head"):
        path_map(case().patching(), (0, 1), "q")
