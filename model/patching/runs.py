"""Two runs, and variants of one of them in which parts are the other's.

The variants travel as one batch: row 0 is the run itself, and the others join it where they begin to differ from it.
Each is a change of the residual stream, so that a layer's attention is not computed for those that join after it. A
run with edits makes them in every row; there a variant joins before its layer, and its part is put in place of what
the edits have left.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.base.source import Source
from headlight.model.measure.alignment import Matches
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import NO_TAP, Chain, Collect, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.patching.grids import Part, Variant, check_variant, row_bytes
from headlight.model.patching.joining import Growing, Later, Put
from headlight.model.patching.sides import LogitDifference, RunSide, Tokens, aligned, check, in_reach
from headlight.model.runs.linear import norm_behind

Streams = Float[Tensor, "variant pos d_model"]
Into = Literal["A", "B"]
SAME = 1e-6  # logits; two differences that are closer leave nothing to be shared
AT_ONCE = 2**30  # bytes that variants in flight may take


class Patching:
    """Runs A and B, one of which (`into`) is patched with activations of the other.

    `a` and `b` are the logit difference in the two runs. `matches` says which positions of A and B belong together:
    equal ones by default; what has no match is not patched. B can be the run of `model_b`, which has the same
    shape, or one with edits, which `tap_b` makes.

    Where attention is causal, only the `reach` tokens up to the position at which it is measured have a say. Of a run
    without edits only these are run, of one with edits all `n_pos`.

    Raises:
        InputError: prompts of different length without matches, models of different shape, a token or a position that
            there is not, or no difference between A and B of which a share could be taken.
    """

    def __init__(
        self,
        model: Transformer,
        a: Tokens,
        b: Tokens,
        measured: LogitDifference,
        into: Into = "A",
        matches: Matches | None = None,
        model_b: Transformer | None = None,
        tap_b: Tap = NO_TAP,
    ) -> None:
        sides = RunSide(model, a, measured.position), RunSide(model_b or model, b, measured.in_b, tap_b)
        matched = check(*sides, measured, matches)
        base, source = sides if into == "A" else reversed(sides)
        pairs = matched if into == "A" else [(there, here) for here, there in matched]
        self._into(base, measured, into)
        self.matches = in_reach(pairs, base, source)
        self._unequal: dict[tuple[Part, int], Bool[Tensor, "pos ..."]] = {}
        self.base, own = self._run(base)
        there, other = self._run(source)
        self.other = ActivationCache(aligned(self.base, there, self.matches), self.model.cfg.n_layers)
        self.a, self.b = (own, other) if into == "A" else (other, own)
        self._check_difference("in B", "change B")

    def _into(self, base: RunSide, measured: LogitDifference, into: Into) -> None:
        self.measured, self.into = measured, into
        self.model, self.position, self.tap = base.model, base.position, base.tap
        self.n_pos, self.reach = base.n_pos, base.reach
        self.tokens = base.tokens[:, : self.n_pos]

    def _check_difference(self, of_b: str, instead: str) -> None:
        if abs(self.b - self.a) <= SAME:
            raise InputError(
                f"Target less distractor is {self.a:.6f} logits in A and {self.b:.6f} {of_b}: with no difference "
                f"between them there is no share of it to measure. Choose another target or distractor, or {instead}."
            )

    @torch.inference_mode()
    def _run(self, side: RunSide) -> tuple[ActivationCache, float]:
        keep, n_layers = Collect(self.names), side.model.cfg.n_layers
        tokens = side.tokens[:, : side.n_pos].to(side.model.embed.W_E.device)
        resid = side.model(tokens, tap=Chain(side.tap, keep), stop_at_layer=n_layers)
        kept = {name: activation[0] for name, activation in keep.kept.items()}
        return ActivationCache(kept, n_layers), float(self.read(side.model.read_from(resid, side.position), side.model))

    @property
    def names(self) -> list[str]:
        """The activations that are kept of both runs."""
        parts = ["hook_resid_pre", "attn.hook_z", "hook_attn_out"]
        parts += [] if self.model.cfg.attn_only else ["hook_mlp_out"]
        return [f"blocks.{layer}.{part}" for layer in range(self.model.cfg.n_layers) for part in parts]

    @property
    def source(self) -> Source | None:
        """Origin of the patched run's model."""
        return self.model.source

    @property
    def nbytes(self) -> int:
        """The activations kept of both runs."""
        return sum(kept.nbytes for cache in (self.base, self.other) for kept in cache.values())

    def read(self, resid: Streams, model: Transformer | None = None) -> Float[Tensor, " variant"]:
        """Target minus distractor of streams after the last layer, of all positions or of the measured one."""
        model = model or self.model
        if resid.shape[1] > 1:
            resid = model.read_from(resid, self.position)
        pair = measured_outputs(len(model.unembed.b_U), self.measured.target, self.measured.distractor)
        W_U, b_U = widened(model.unembed.W_U[:, pair]), model.unembed.b_U[pair]
        return contrast(model.to_unembed(resid)[:, 0] @ W_U + b_U)

    @property
    def final_of_other(self) -> Float[Tensor, "pos d_model"]:
        """The other run's stream after the last layer."""
        last = self.model.cfg.n_layers - 1
        block, resid = self.model.block(last), self.other["resid_pre", last]
        for part, _ in self.model.cfg.written(last):
            resid = block.after(part, (resid + self.other[part, last])[None])[0]
        return resid

    def share(self, differences: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Position of logit differences between A's and B's: 0 at A's, 1 at B's, not clipped."""
        return (differences - self.a) / (self.b - self.a)

    def only_matched(self, shares: Float[Tensor, "row column"], axes: tuple[str, str]) -> Float[Tensor, "row column"]:
        """A map's shares, NaN at positions that have no match and are therefore not patched."""
        if axes[1] != "pos":
            return shares
        matched = torch.zeros(self.reach, dtype=torch.bool)
        matched[[here for here, _ in self.matches]] = True
        return shares.masked_fill(~matched, torch.nan)

    def change(self, part: Part, layer: int) -> Float[Tensor, "pos ..."]:
        """The other run's activation minus this one's; 0 at positions without a match."""
        return self.other[part, layer] - self.base[part, layer]

    def differences(self, variants: Sequence[Variant], at_once: int = AT_ONCE) -> Float[Tensor, " variant"]:
        """Logit difference of each variant, in batches of at most this many bytes.

        Raises:
            InputError: a variant that there is not, or not even one would fit.
        """
        for variant in variants:
            check_variant(variant, self.model.cfg, self.n_pos)
        changed = [slot for slot, variant in enumerate(variants) if self.is_changed(variant)]
        pieces = [self._differences(piece) for piece in self.pieces([variants[slot] for slot in changed], at_once)]
        own = self.a if self.into == "A" else self.b
        differences = widened(self.model.unembed.b_U[:1]).new_full((len(variants),), own)
        if pieces:
            differences[changed] = torch.cat(pieces)
        return differences

    def is_changed(self, variant: Variant) -> bool:
        """Whether a patch changes anything: what only sees tokens that both prompts have is the same in both runs."""
        if self.tap is not NO_TAP:  # its edits may change the part again
            return True
        site = variant.part, variant.layer
        if site not in self._unequal:
            self._unequal[site] = (self.change(*site) != 0).any(-1).cpu()
        unequal = self._unequal[site]
        unequal = unequal if variant.head is None else unequal[:, variant.head]
        return bool(unequal.any() if variant.position is None else unequal[variant.position].any())

    def pieces(self, variants: Sequence[Variant], at_once: int = AT_ONCE) -> Iterator[Sequence[Variant]]:
        """The variants in chunks that fit into this many bytes each, with the run itself.

        Raises:
            InputError: as `differences`.
        """
        most = self.most_at_once(at_once)
        for start in range(0, len(variants), most):
            yield variants[start : start + most]

    def most_at_once(self, at_once: int) -> int:
        """Number of variants that fit into this many bytes, with the run itself.

        Raises:
            InputError: not even one.
        """
        row = row_bytes(self.model.cfg, self.n_pos)
        if at_once < 2 * row:
            raise InputError(
                f"One variant of {self.n_pos} tokens takes about {2 * row / 2**20:,.1f} MiB with the run itself, and "
                f"{at_once / 2**20:,.1f} MiB are allowed. Shorten the prompts or allow more."
            )
        return at_once // row - 1

    @torch.inference_mode()
    def _differences(self, variants: Sequence[Variant]) -> Float[Tensor, " variant"]:
        order = sorted(range(len(variants)), key=lambda row: self._site(variants[row]))
        joining: dict[str, list[Tensor]] = {}
        for row in order:
            _, _, name = self._site(variants[row])
            joining.setdefault(name, []).append(self._written(variants[row]))
        first = min(variant.layer for variant in variants)
        put = NO_TAP if self.tap is NO_TAP else Put([variants[row] for row in order], self.other)
        resid = self.resume_from(first, {name: torch.stack(rows) for name, rows in joining.items()}, put)
        return torch.empty_like(resid).index_copy_(0, torch.tensor(order, device=resid.device), resid)

    def _site(self, variant: Variant) -> tuple[int, int, str]:
        """Place where a variant joins the run: layer, order within it, and the stream's name."""
        if variant.part == "resid_pre" or self.tap is not NO_TAP:
            return variant.layer, 0, f"blocks.{variant.layer}.hook_resid_pre"
        if variant.part == "mlp_out":
            return variant.layer, 2, f"blocks.{variant.layer}.hook_resid_post"
        return variant.layer, 1, self.after_attention(variant.layer)

    def after_attention(self, layer: int) -> str:
        """The name of the first stream to which a layer's attention has been added."""
        return f"blocks.{layer}.hook_resid_{'mid' if self.model.cfg.states > 1 else 'post'}"

    def _written(self, variant: Variant) -> Float[Tensor, "pos d_model"]:
        """Change of a variant's stream where it joins; later replacements do not change it yet."""
        if self.tap is not NO_TAP and variant.part != "resid_pre":
            return torch.zeros_like(self.base["resid_pre", variant.layer])
        if variant.part == "z":
            heads = range(self.model.cfg.n_heads) if variant.head is None else [variant.head]
            change = self.heads_change(variant.layer, heads)
        else:
            change = self.change(variant.part, variant.layer)
        if variant.position is None:
            return change
        alone = torch.zeros_like(change)
        alone[variant.position] = change[variant.position]
        return alone

    def heads_change(self, layer: int, heads: Sequence[int]) -> Float[Tensor, "pos d_model"]:
        """Change of the stream with these heads' z from the other run; a norm behind them is recomputed."""
        block, dtype = self.model.block(layer), self.base["z", layer].dtype
        change, W_O = self.change("z", layer), block.attn.W_O.to(dtype)
        change_written = torch.stack([change[:, head] @ W_O[head] for head in heads]).sum(0)
        if norm_behind(self.model, layer) is None:
            return change_written if block.residual_scale == 1.0 else change_written * block.residual_scale
        own = torch.einsum("phd,hdm->pm", self.base["z", layer], W_O) + block.attn.b_O.to(dtype)
        after, before = block.ln1_post(torch.stack([own + change_written, own]), NO_TAP)
        return (after - before) * block.residual_scale

    @torch.inference_mode()
    def resume_from(self, layer: int, joining: Mapping[str, Streams], tap: Tap = NO_TAP) -> Float[Tensor, " variant"]:
        """Logit differences of the variants that join a run at a layer, by their streams' names, in order.

        What joins is how much a variant's stream differs from the run's own there; `tap` sees what the others leave.
        """
        model, last = self.model, self.model.cfg.n_layers - 1
        alone = self.after_attention(last) if self.tap is NO_TAP and not model.cfg.pools_mean else None
        steps = Chain(Growing(joining, alone, self.position), Later(self.tap, layer), tap)
        resid = self.base["resid_pre", layer][None]
        positions = place(model.cfg.attention_dir, None, self.n_pos, resid.device)
        for index in range(layer, last + 1):
            resid = model.blocks[index](resid, positions, steps.within(f"blocks.{index}"))
        return self.read(resid)[1:]
