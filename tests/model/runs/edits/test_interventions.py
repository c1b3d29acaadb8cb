"""Cut edges and ablated heads, against hook functions that do the same by hand, here and in TransformerLens."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer
from headlight.model.base.errors import InputError
from headlight.model.decoding.key_values import KeyValueCache
from headlight.model.nn.hooks import Chain, Tap
from headlight.model.runs.edits.interventions import ablate_head, abreast, check_cell, check_head, cut_edge
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import ATOL, RTOL, VARIANTS, random_model, random_tokens

LAYER, HEAD, QUERY, KEY = 1, 2, 5, 3
PATTERN, Z = f"blocks.{LAYER}.attn.hook_pattern", f"blocks.{LAYER}.attn.hook_z"


def _set_to_zero(pattern: Tensor, hook: object, renormalise: bool) -> Tensor:
    pattern[:, HEAD, QUERY, KEY] = 0
    if renormalise:
        pattern[:, HEAD, QUERY] /= pattern[:, HEAD, QUERY].sum(-1, keepdim=True)
    return pattern


def _run(model: Transformer, tap: Tap, tokens: Tensor | None = None) -> Tensor:
    with torch.inference_mode():
        return model(random_tokens(1) if tokens is None else tokens, tap=tap)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("renormalise", [False, True])
def test_cutting_an_edge_is_setting_that_entry_of_the_pattern(variant: str, renormalise: bool) -> None:
    model = random_model(**VARIANTS[variant])
    hook = partial(_set_to_zero, renormalise=renormalise)
    expected = model.run_with_hooks(random_tokens(1), [(PATTERN, hook)])
    logits = _run(model, cut_edge(LAYER, HEAD, QUERY, KEY, renormalise))
    torch.testing.assert_close(logits, expected, rtol=0, atol=0)  # the same steps in the same order
    assert not torch.equal(logits, _run(model, Tap()))


@pytest.mark.parametrize("renormalise", [False, True])
def test_transformer_lens_cuts_the_same(renormalise: bool) -> None:
    model = random_model()
    hook = partial(_set_to_zero, renormalise=renormalise)
    expected = lens_twin(model).run_with_hooks(random_tokens(1), fwd_hooks=[(PATTERN, hook)])
    logits = _run(model, cut_edge(LAYER, HEAD, QUERY, KEY, renormalise))
    torch.testing.assert_close(logits, expected, rtol=RTOL, atol=ATOL)


def test_a_row_in_which_nothing_remains_stays_zero() -> None:
    kept: list[Tensor] = []

    class Keep(Tap):
        def __call__(self, name: str, activation: Tensor) -> Tensor:
            kept.extend([activation[0, HEAD, 0]] if name == PATTERN else [])
            return activation

    logits = _run(random_model(), Chain(cut_edge(LAYER, HEAD, 0, 0, renormalise=True), Keep()))
    assert kept[0].count_nonzero() == 0
    assert logits.isfinite().all()


@pytest.mark.parametrize("renormalise", [False, True])
def test_positions_run_before_are_counted(renormalise: bool) -> None:
    """The query and what follows it, over the keys and values of what went before, which the cut does not change."""
    model, tokens = random_model(), random_tokens(1)
    expected = _run(model, cut_edge(LAYER, HEAD, QUERY, KEY, renormalise))[:, QUERY:]
    cache = KeyValueCache()
    _run(model, cache, tokens[:, :QUERY])
    tap = Chain(cut_edge(LAYER, HEAD, QUERY, KEY, renormalise, n_past=QUERY), cache)
    with torch.inference_mode():
        logits = model(tokens[:, QUERY:], tap=tap, n_past=QUERY)
    torch.testing.assert_close(logits, expected, rtol=RTOL, atol=ATOL)


def _z(tokens: Tensor) -> Tensor:
    with torch.inference_mode():
        return random_model().run_with_cache(tokens, Z)[1][Z][0, :, HEAD]


OTHER = random_tokens(1, seed=1)
ABLATIONS: dict[str, tuple[Callable[[], Tap], Callable[[Tensor], Tensor]]] = {
    "zero": (lambda: ablate_head(LAYER, HEAD, "zero"), torch.zeros_like),
    "mean": (lambda: ablate_head(LAYER, HEAD, "mean"), lambda z: z.mean(1, keepdim=True).expand_as(z)),
    "mean of elsewhere": (
        lambda: ablate_head(LAYER, HEAD, "mean", _z(OTHER).mean(0, keepdim=True)),
        lambda z: _z(OTHER).mean(0).expand_as(z),
    ),
    "resample": (lambda: ablate_head(LAYER, HEAD, "resample", _z(OTHER)), lambda z: _z(OTHER)[None]),
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablating_a_head_is_replacing_its_z(name: str) -> None:
    model, (tap, replaced) = random_model(), ABLATIONS[name]

    def hook(z: Tensor, hook: object) -> Tensor:
        z[:, :, HEAD] = replaced(z[:, :, HEAD])
        return z

    logits = _run(model, tap())
    torch.testing.assert_close(logits, model.run_with_hooks(random_tokens(1), [(Z, hook)]), rtol=0, atol=0)  # as above
    theirs = lens_twin(model).run_with_hooks(random_tokens(1), fwd_hooks=[(Z, hook)])
    torch.testing.assert_close(logits, theirs, rtol=RTOL, atol=ATOL)


def test_a_head_given_its_own_output_changes_nothing() -> None:
    model = random_model()
    logits = _run(model, ablate_head(LAYER, HEAD, "resample", _z(random_tokens(1))))
    assert torch.equal(logits, _run(model, Tap()))


@pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way
def test_taps_abreast_are_the_rows_that_each_gives_alone() -> None:
    model = random_model()
    taps = [cut_edge(LAYER, HEAD, QUERY, KEY), ablate_head(0, 1, "zero"), Tap(), ablate_head(LAYER, HEAD, "mean")]
    rows = torch.cat([_run(model, tap) for tap in taps])
    torch.testing.assert_close(_run(model, abreast(taps)), rows, rtol=RTOL, atol=ATOL)


@pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way
def test_a_run_abreast_grows_where_the_first_tap_acts() -> None:
    sizes: dict[str, int] = {}

    class Sizes(Tap):
        def __call__(self, name: str, activation: Tensor) -> Tensor:
            sizes[name] = len(activation)
            return activation

    _run(random_model(), Chain(abreast([ablate_head(1, 0, "zero"), cut_edge(1, 0, 2, 1)]), Sizes()))
    assert sizes["blocks.0.hook_resid_post"] == sizes["blocks.1.attn.hook_q"] == 1
    assert sizes[PATTERN] == sizes["blocks.1.hook_resid_post"] == 2


def test_resampling_needs_an_output_of_as_many_positions() -> None:
    with pytest.raises(InputError, match="its z in another run is needed"):
        ablate_head(LAYER, HEAD, "resample")
    with pytest.raises(InputError, match="has 3 positions and the run 7"):
        _run(random_model(), ablate_head(LAYER, HEAD, "resample", torch.zeros(3, 5)))


@pytest.mark.parametrize(
    ("layer", "head"), [(-1, 0), (2, 0), (0, 3), (0, -1)], ids=["layer below", "layer above", "head above", "below"]
)
def test_a_head_that_is_not_there_is_refused(layer: int, head: int) -> None:
    with pytest.raises(InputError, match="layers 0 to 1 of heads 0 to 2"):
        check_head(random_model().cfg, layer, head)


def test_a_cell_that_is_not_there_is_refused() -> None:
    cfg, both_ways = (random_model(attention_dir=way).cfg for way in ("causal", "bidirectional"))
    with pytest.raises(InputError, match="above the diagonal"):
        check_cell(cfg, 7, 2, 3)
    with pytest.raises(InputError, match="no query 7: the prompt has tokens 0 to 6"):
        check_cell(cfg, 7, 7, 3)
    with pytest.raises(InputError, match="no key -1"):
        check_cell(cfg, 7, 2, -1)
    check_cell(both_ways, 7, 2, 3)
    check_cell(cfg, 7, 3, 3)
