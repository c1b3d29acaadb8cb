"""Five programs whose weights are written by hand, so that their circuits are known edge by edge.

Each has decoys beside its circuit: heads and MLPs that read the tokens and write where nothing reads. A method that
finds circuits is measured by whether it scores the true edges above all others. Sequences begin with token 0.

Source: the idea of Lindner et al. 2023, "Tracr: Compiled Transformers as a Laboratory for Interpretability".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.config import AttentionDirection, TransformerConfig
from headlight.model.nn.transformer import Transformer

BOS, X, OPEN, CLOSE = 0, 1, 1, 2
LENGTH = 5  # tokens behind the first, of every sequence that these programs are given
SURE = 30.0  # the score (nats) of a match; all else is left with less than e^-29
PREDICTED = 10.0  # the logit of the answer; all others have 0

Edge = tuple[str, str]  # receiver and sender, by their names in `circuits.wiring`
EMBEDDINGS, LOGITS = "embeddings", "logits"


@dataclass(frozen=True, eq=False)
class Program:
    """A model, the answer that it gives at each position, and its true edges.

    Attributes:
        model: the transformer.
        answers: the tokens with the largest logit behind the first position, of the tokens there.
        varying: edges along which something depends on the tokens: what another prompt's activations change.
        constant: edges along which a constant is needed as well, such as a position: what zeros change besides.
    """

    model: Transformer
    answers: Callable[[Sequence[int]], list[int]]
    varying: frozenset[Edge]
    constant: frozenset[Edge]


def programs(d_vocab: int = 8) -> dict[str, Program]:
    """All programs by name."""
    return {
        "reverse": _reverse(d_vocab),
        "share": _share(d_vocab),
        "sort": _sort(d_vocab),
        "histogram": _histogram(d_vocab),
        "brackets": _brackets(),
    }


def _reverse(d_vocab: int) -> Program:
    """Write the sequence backwards, however long it is: the length is counted, and the place to look at computed."""
    weights = _Weights(d_vocab, n_layers=3, parts={"share": 1, "length": 1, "place to read": LENGTH + 2})
    part = weights.part
    weights.head(0, v=(part["token"][[BOS]], 0), o="share")  # looks at all alike: 1 / (length + 1)
    lengths = range(1, LENGTH + 1)
    weights.mlp(0, part["share"][0], [1 / (n + 1) for n in lengths], [[float(n)] for n in lengths], "length")
    places = range(-LENGTH, LENGTH + 2)
    marks = [[float(place == at) for at in range(LENGTH + 2)] for place in places]
    weights.mlp(1, part["length"][0] - part["index"][0], [place - 1 for place in places], marks, "place to read")
    weights.head(2, q=part["place to read"][: LENGTH + 1], k=part["place"], v=(part["token"], 0), o="answer")
    circuit = {("L2H0.v", EMBEDDINGS), (LOGITS, "L2H0")}
    constant = {("L0H0.v", EMBEDDINGS), ("L0 MLP", "L0H0"), ("L1 MLP", "L0 MLP"), ("L1 MLP", EMBEDDINGS)}
    constant |= {("L2H0.q", "L1 MLP"), ("L2H0.k", EMBEDDINGS)}
    return Program(weights.finished(), lambda tokens: list(reversed(tokens)), frozenset(circuit), frozenset(constant))


def _share(d_vocab: int) -> Program:
    """Say token X by as much as it has of the tokens up to here; its logit is `PREDICTED` times that share."""
    weights = _Weights(d_vocab, n_layers=2, parts={"is x": 1}, attention_dir="causal")
    part = weights.part
    weights.mlp(0, part["token"][X], [0.0, 1.0], [[0.0], [1.0]], "is x")
    weights.head(1, q=None, k=-part["token"][[BOS]], v=(part["is x"], X), o="answer")
    circuit = {("L0 MLP", EMBEDDINGS), ("L1H0.v", "L0 MLP"), (LOGITS, "L1H0")}
    constant = frozenset({("L1H0.k", EMBEDDINGS)})

    def answers(tokens: Sequence[int]) -> list[int]:
        return [X if count else BOS for count in accumulate(int(token == X) for token in tokens)]

    return Program(weights.finished(), answers, frozenset(circuit), constant)


def _sort(d_vocab: int) -> Program:
    """Write different tokens in the order of their ids: each counts the smaller ones, which is its place."""
    weights = _Weights(d_vocab, n_layers=2, parts={"share": 1, "rank": LENGTH + 1})
    part = weights.part
    smaller = torch.ones(d_vocab, d_vocab).tril(-1)  # [query's token, key's], the first token among them
    weights.head(0, q=smaller.T @ part["token"], k=part["token"], v=(part["token"][[BOS]], 0), o="share")
    ranks = [[float(rank == at) for at in range(LENGTH + 1)] for rank in range(1, LENGTH + 1)] + [[0.0] * (LENGTH + 1)]
    weights.mlp(0, part["share"][0], [1 / rank for rank in range(1, LENGTH + 2)], ranks, "rank")
    weights.head(1, q=part["place"], k=part["rank"], v=(part["token"], 0), o="answer")
    circuit = {("L0H0.q", EMBEDDINGS), ("L0H0.k", EMBEDDINGS), ("L0 MLP", "L0H0"), ("L1H0.k", "L0 MLP")}
    circuit |= {("L1H0.v", EMBEDDINGS), (LOGITS, "L1H0")}
    constant = {("L0H0.v", EMBEDDINGS), ("L1H0.q", EMBEDDINGS)}
    return Program(weights.finished(), sorted, frozenset(circuit), frozenset(constant))


def _histogram(d_vocab: int) -> Program:
    """Say at each token how often it is there, as the token with that id."""
    weights = _Weights(d_vocab, n_layers=2, parts={"share": 1})
    part = weights.part
    same = part["token"].clone()
    same[BOS] = part["token"].sum(0)  # the first token matches every query
    weights.head(0, q=same, k=part["token"], v=(part["token"][[BOS]], 0), o="share")
    counts = range(LENGTH + 1)
    answer = [[float(count == at) for at in range(d_vocab)] for count in counts]
    weights.mlp(0, part["share"][0], [1 / (1 + count) for count in counts], answer, "answer")
    circuit = {("L0H0.q", EMBEDDINGS), ("L0H0.k", EMBEDDINGS), ("L0 MLP", "L0H0"), (LOGITS, "L0 MLP")}
    constant = frozenset({("L0H0.v", EMBEDDINGS)})

    def answers(tokens: Sequence[int]) -> list[int]:
        return [list(tokens).count(token) for token in tokens]

    return Program(weights.finished(), answers, frozenset(circuit), constant)


def _brackets() -> Program:
    """Say `OPEN` where the brackets up to here are balanced, and `CLOSE` where they are not."""
    weights = _Weights(3, n_layers=2, parts={"depth": 1, "below": 1}, attention_dir="causal")
    part = weights.part
    weights.head(0, v=((part["token"][OPEN] - part["token"][CLOSE])[None], 0), o="depth")  # of the mean
    step = 1 / (LENGTH + 1)  # the smallest depth that there is
    below_and_open = [[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0] * 4, [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    weights.mlp(0, part["depth"][0], [-1.0, -step, 0.0, step, 1.0], below_and_open, "below", "answer")
    weights.head(1, q=None, k=part["below"], v=(part["below"], CLOSE), o="answer")
    circuit = {("L0H0.v", EMBEDDINGS), ("L0 MLP", "L0H0"), ("L1H0.k", "L0 MLP"), ("L1H0.v", "L0 MLP")}
    circuit |= {(LOGITS, "L0 MLP"), (LOGITS, "L1H0")}
    model = weights.finished()
    model.unembed.b_U[OPEN] = PREDICTED / 2

    def answers(tokens: Sequence[int]) -> list[int]:
        depths = list(accumulate(1 if token == OPEN else -1 for token in tokens))
        balanced = [depths[at] == 0 and min(depths[: at + 1]) >= 0 for at in range(len(depths))]
        return [OPEN if each else CLOSE for each in balanced]

    return Program(model, answers, frozenset(circuit), frozenset())


Rows = Float[Tensor, "entry d_model"]


class _Weights:
    """Writes a model part by part: a stream with a part for each thing that is known of a position, and decoys.

    The first head of a layer is the program's, the second a decoy, as are MLPs and first heads that are not written.
    """

    def __init__(
        self, d_vocab: int, n_layers: int, parts: dict[str, int], attention_dir: AttentionDirection = "bidirectional"
    ) -> None:
        n_ctx = LENGTH + 1
        sizes = {"token": d_vocab, "place": n_ctx, "index": 1, **parts, "answer": d_vocab, "aside": d_vocab}
        cfg = TransformerConfig(
            n_layers=n_layers,
            d_model=sum(sizes.values()),
            n_ctx=n_ctx,
            n_heads=2,
            d_head=max(d_vocab, n_ctx),
            d_vocab=d_vocab,
            d_mlp=d_vocab + 2 * n_ctx + 2,
            act_fn="relu",
            normalization_type=None,
            attention_dir=attention_dir,
            attn_scale=1.0,
        )
        self.model = Transformer(cfg).requires_grad_(False).eval()
        for parameter in self.model.parameters():
            parameter.zero_()
        self.part: dict[str, Rows] = dict(zip(sizes, torch.eye(cfg.d_model).split(list(sizes.values())), strict=True))
        self.model.embed.W_E.copy_(self.part["token"])
        index = torch.arange(n_ctx)[:, None] * self.part["index"]
        self.model.get_parameter("pos_embed.W_pos").copy_(self.part["place"] + index)
        self._heads = [(layer, head) for layer in range(n_layers) for head in range(2)]
        self._mlps = list(range(n_layers))

    def head(
        self, layer: int, *, q: Rows | None = None, k: Rows | None = None, v: tuple[Rows, int], o: str, head: int = 0
    ) -> None:
        """A head whose scores are `SURE` times what `q` and `k` read in common, or what `k` reads where there is no q.

        What `v` reads is written into the part `o` from so many entries on. Without q and k it looks at all alike.
        """
        attn = self.model.block(layer).attn
        if k is not None:
            if q is None:
                attn.b_Q[head, : len(k)] = SURE
            else:
                attn.get_parameter("W_Q")[head, :, : len(q)] = SURE * q.T
            attn.get_parameter("W_K")[head, :, : len(k)] = k.T
        read, first = v
        attn.get_parameter("W_V")[head, :, : len(read)] = read.T
        attn.get_parameter("W_O")[head, : len(read)] = self.part[o][first : first + len(read)]
        self._heads.remove((layer, head))

    def mlp(
        self, layer: int, read: Float[Tensor, " d_model"], knots: Sequence[float], values: list[list[float]], *o: str
    ) -> None:
        """An MLP that is linear between these knots of the number that it reads, and constant before the first.

        `values` are those at the knots, of the entries of the parts `o` one after the other.
        """
        order = sorted(range(len(knots)), key=knots.__getitem__)
        at, out = torch.tensor(knots)[order], torch.tensor(values)[order]
        slopes = out.diff(dim=0) / at.diff()[:, None]
        bends = torch.cat([slopes[:1], slopes.diff(dim=0)])  # behind the last knot the last slope goes on
        mlp, written = self.model.block(layer).get_submodule("mlp"), torch.cat([self.part[name] for name in o])
        written = written[: out.shape[1]]
        mlp.get_parameter("W_in")[:, : len(bends)] = read[:, None]
        mlp.get_parameter("b_in")[: len(bends)] = -at[:-1]
        mlp.get_parameter("W_out")[: len(bends)] = bends @ written
        mlp.get_parameter("b_out").copy_(out[0] @ written)
        self._mlps.remove(layer)

    def finished(self) -> Transformer:
        """The model, with decoys wherever nothing was written."""
        token, aside = self.part["token"], self.part["aside"]
        for layer, head in list(self._heads):
            self.head(layer, q=token, k=token + aside, v=(token, 0), o="aside", head=head)
        for layer in list(self._mlps):
            mlp = self.model.block(layer).get_submodule("mlp")
            mlp.get_parameter("W_in")[:, : len(token)] = (token + aside).T
            mlp.get_parameter("W_out")[: len(token)] = aside
        self.model.unembed.get_parameter("W_U").copy_(PREDICTED * self.part["answer"].T)
        return self.model
