"""Tables of a scan: every head's figures, and one head's sequences, tokens and effects."""

from collections.abc import Callable, Iterator, Sequence

from headlight.model.corpus.reading import read_dashboard
from headlight.model.corpus.titles import Estimates, change, estimates, figure, half_way
from headlight.model.corpus.tree import Dashboard, Effect, Head, Tree
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.edits import head_name
from headlight.model.runs.tables import Row, Rows, Table, Tables, columns, number

FIGURES = ("run", "head", "figure", "unit", "value", "95% from", "95% to")
STEPS = ("step", "head", "figure", "unit", "value", "95% from", "95% to")
GROWTH = ("head", "figure", "unit", "first", "last", "half way by step")
SEQUENCES = ("head", "bucket", "sequence", "document", "from token", "weight", "query", "key", "text")
TOKENS = ("head", "list", "query token", "key token", "weight")
COUNTS = ("head", "histogram", "from", "to", "value")
EFFECTS = ("head", "effect", "unit", "mean", "95% from", "95% to", "tokens")
MATTERS = {
    "loss_change": ("loss change, mean-ablated", "nats"),
    "when_active": ("loss change where the head is active", "nats"),
    "when_not": ("loss change where it is not", "nats"),
    "direct": ("direct effect on the right token", "logits"),
}


def corpus_tables(
    a: Tree, heads: Sequence[Head] = (), b: Tree | None = None, series: Sequence[Tree] = (), metric: str = ""
) -> Tables:
    """Return every head's figures in scan A, in scan B and their change, and samples for some heads of A.

    Args:
        a: a scan.
        heads: (layer, head) pairs whose sequences, tokens, histograms and effects are listed.
        b: another scan to compare with.
        series: scans of one model's training checkpoints.
        metric: the figure that is followed over `series`.
    """
    tables: Tables = {"figures": columns(FIGURES, _figures(a, b))}
    dashboards = [read_dashboard(a, head) for head in heads]
    if dashboards:
        tables |= {
            "sequences": _of(SEQUENCES, dashboards, _sequences),
            "tokens": _of(TOKENS, dashboards, _tokens),
            "histograms": _of(COUNTS, dashboards, _counts),
            "effects": _of(EFFECTS, dashboards, _effects),
        }
    if series:
        tables["steps"] = columns(STEPS, steps(series, heads, metric))
        tables["growth"] = columns(GROWTH, growth(series, metric))
    return tables


def shared(a: Tree, b: Tree | None) -> tuple[str, ...]:
    """The figures that both scans have, or A alone."""
    return tuple(metric for metric in a.metrics if b is None or metric in b.metrics)


def steps(series: Sequence[Tree], heads: Sequence[Head], metric: str) -> Rows:
    """One figure of some heads at each training step."""
    rows = Rows()
    for tree in series:
        step = tree.provenance.step if tree.provenance else None
        there = [head for head in heads if head in tree.rows]
        rows += [(step, *row) for row in _rows(estimates(tree, metric), metric, there)]
    return rows


def growth(series: Sequence[Tree], metric: str) -> Rows:
    """One figure of every head at the first and at the last step of a training, and when it was half way between."""
    first, last = (estimates(tree, metric).values for tree in (series[0], series[-1]))
    at = half_way(series, metric)
    unit = figure(metric).unit
    return [
        (head_name(head), metric, unit, *(number(float(each[head])) for each in (first, last, at)))
        for head in series[-1].rows
    ]


def _figures(a: Tree, b: Tree | None) -> Rows:
    sides = {"A": a} if b is None else {"A": a, "B": b}
    rows = [
        (side, *row)
        for side, tree in sides.items()
        for metric in tree.metrics
        for row in _rows(estimates(tree, metric), metric, list(tree.rows))
    ]
    if b is not None:
        both = [head for head in a.rows if head in b.rows]
        for metric in shared(a, b):
            rows += [(DIFFERENCE, *row) for row in _rows(change(a, b, metric), metric, both)]
    return rows


def _rows(estimated: Estimates, metric: str, heads: Sequence[Head]) -> Iterator[Row]:
    for head in heads:
        numbers = (number(float(each[head])) for each in (estimated.values, estimated.low, estimated.high))
        yield head_name(head), metric, figure(metric).unit, *numbers


def _of(heading: Sequence[str], dashboards: Sequence[Dashboard], rows: Callable[[Dashboard], Iterator[Row]]) -> Table:
    return columns(heading, ((head_name((each.layer, each.head)), *row) for each in dashboards for row in rows(each)))


def _sequences(dashboard: Dashboard) -> Iterator[Row]:
    for each in dashboard.sequences:
        query, key = each.strongest or (None, None)
        yield (
            each.interval,
            each.sequence_id,
            each.document,
            each.start,
            each.max_activation,
            None if query is None else f"{query} {each.tokens[query]}",
            None if key is None else f"{key} {each.tokens[key]}",
            each.text,
        )


def _tokens(dashboard: Dashboard) -> Iterator[Row]:
    yield from (("queries", token, None, weight) for token, weight in dashboard.top_query_tokens)
    yield from (("keys", None, token, weight) for token, weight in dashboard.top_key_tokens)
    yield from (("pairs", each.query, each.key, each.weight) for each in dashboard.top_pairs)


def _counts(dashboard: Dashboard) -> Iterator[Row]:
    drawn = {"largest weight of a sequence": dashboard.histogram, "distance": dashboard.qk_distance_histogram}
    for called, each in drawn.items():
        if each is not None:
            ends = zip(each.bin_edges, each.bin_edges[1:], each.bin_values, strict=False)
            yield from ((called, low, high, value) for low, high, value in ends)


def _effects(dashboard: Dashboard) -> Iterator[Row]:
    for field, (called, unit) in MATTERS.items():
        effect: Effect | None = getattr(dashboard.matters, field, None)
        if effect is not None:
            low, high = effect.interval or (None, None)
            yield called, unit, effect.mean, low, high, effect.n
