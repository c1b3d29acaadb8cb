"""Read a HeadVis tree: ours, Neuronpedia's or anybody's; nothing in it is trusted."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from headlight.model.base.errors import ScanError
from headlight.model.base.files import is_utf8
from headlight.model.corpus.checked import JsonValue, read
from headlight.model.corpus.tree import (
    CONFIG,
    HEADS,
    PATTERN,
    SCATTER,
    Dashboard,
    Effect,
    Head,
    HeadRow,
    Histogram,
    Interval,
    Matters,
    Provenance,
    SampledSequence,
    TokenPair,
    Tree,
)

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "scans"
MAX_DEPTH, MAX_FOLDERS = 3, 1000
MAX_HEADS = 2**18
MAX_TOKENS = 2**20  # of one sequence: its weights' indices stay below 2**40
WHOLE = 2**53


def is_tree(folder: Path) -> bool:
    """Whether a folder has the two files that every tree begins with."""
    return all(os.path.isfile(folder / name) for name in (CONFIG, SCATTER))  # unlike Path's, this never raises


def trees_in(folder: Path) -> dict[str, Path]:
    """The trees in a folder and in those within, by their paths from it; none that a link would fetch from elsewhere.

    Neuronpedia's exports lie three folders deep: `<model>/headvis/<corpus>`.
    """
    return {str(path.relative_to(folder)): path for path in _trees(folder, MAX_DEPTH)}


def _trees(folder: Path, deeper: int) -> Iterator[Path]:
    try:
        children = sorted(folder.iterdir(), key=_by_numbers)[:MAX_FOLDERS]
    except OSError:  # one that may not be read holds nothing for us
        return
    for child in children:
        if not os.path.isdir(child) or child.is_symlink() or child.name.startswith(".") or not is_utf8(child.name):
            continue
        if is_tree(child):
            yield child
        elif deeper > 1:
            yield from _trees(child, deeper - 1)


def _by_numbers(path: Path) -> list[tuple[int, str]]:
    """The sort key of folders: numbers in their names are compared as numbers, as in training steps."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", path.name)]


def shipped_scans() -> dict[str, Path]:
    """The folders of the scans that come with the project, by name."""
    return trees_in(SHIPPED)


def read_tree(source: str | Path) -> Tree:
    """Read a scan: its model, its corpus and every head's figures.

    The files of single heads are read later, by `read_dashboard`.

    Args:
        source: the name of a scan that comes with the project, or a folder.

    Raises:
        ScanError: no such folder, or one of its files is missing or malformed.
    """
    path = shipped_scans().get(str(source), Path(source).expanduser())
    if not path.is_dir():
        raise ScanError(f"There is no folder {str(source)!r}. Give the folder of a finished scan.")
    config = read(path, CONFIG)
    n_layers, n_heads = (config.get(name).whole(1, MAX_HEADS) for name in ("n_layers", "n_heads"))
    if n_layers * n_heads > MAX_HEADS:
        raise ScanError(f"{CONFIG} tells of {n_layers:,} layers of {n_heads:,} heads; at most {MAX_HEADS:,} are read.")
    rows = _rows(read(path, SCATTER), n_layers, n_heads)
    listed = tuple(each.text() for each in config.get("metrics").entries())
    measured = dict.fromkeys(name for row in rows.values() for name in row.values)
    return Tree(
        folder=path,
        model_name=config.get("model_name").text("a model"),
        dataset_name=config.get("dataset_name").text("a corpus"),
        n_layers=n_layers,
        n_heads=n_heads,
        n_intervals=config.get("n_intervals").if_any(lambda each: each.whole(1, 1000)) or 1,
        metrics=tuple(name for name in dict.fromkeys((*listed, *measured)) if name in measured),
        descriptions={name: each.text("") for name, each in config.get("metric_descriptions").named()},
        rows=rows,
        pattern=_pattern(config.get("head_data_pattern").text(PATTERN)),
        provenance=config.get("headlight").if_any(_provenance),
    )


def read_dashboard(tree: Tree, head: Head) -> Dashboard:
    """Read the file of one head.

    Raises:
        ScanError: the file is missing or malformed.
    """
    layer, number = head
    name = tree.pattern.replace("{layer}", str(layer)).replace("{head}", str(number))
    value = read(tree.folder, f"{HEADS}/{name}")
    return Dashboard(
        layer,
        number,
        sequences=_sequences(value.get("sequences"), tree.n_intervals),
        histogram=value.get("histogram").if_any(_histogram),
        qk_distance_histogram=value.get("qk_distance_histogram").if_any(_histogram),
        top_query_tokens=_top_tokens(value.get("top_query_tokens")),
        top_key_tokens=_top_tokens(value.get("top_key_tokens")),
        top_pairs=tuple(_pair(each) for each in value.get("top_pairs").entries()),
        statistics={name: each.number() for name, each in value.get("statistics").named()},
        matters=value.get("matters").if_any(_matters),
    )


def _pattern(pattern: str) -> str:
    """The heads' file names, which lead to no other folder."""
    if re.fullmatch(r"[\w.-]*", pattern.replace("{layer}", "0").replace("{head}", "0")) is None:
        raise ScanError(f"{CONFIG}: head_data_pattern is {pattern!r}; it has to be a file's name, as {PATTERN!r}.")
    return pattern


def _rows(value: JsonValue, n_layers: int, n_heads: int) -> Mapping[Head, HeadRow]:
    rows = [_row(each, n_layers, n_heads) for each in value.entries()]
    if not rows:
        raise ScanError(f"{SCATTER} holds no head. Make the scan again.")
    return {(row.layer, row.head): row for row in sorted(rows, key=lambda row: (row.layer, row.head))}


def _row(value: JsonValue, n_layers: int, n_heads: int) -> HeadRow:
    layer, head = value.get("layer").whole(0, n_layers - 1), value.get("head").whole(0, n_heads - 1)
    # Entries other than numbers are no figures: files of others also have coordinates of a map, for example.
    figures = {name: each.number() for name, each in value.named() if name not in ("layer", "head") and each.is_number}
    return HeadRow(layer, head, figures, {name: _interval(each) for name, each in value.get("intervals").named()})


def _interval(value: JsonValue) -> Interval:
    ends = [each.some_number() for each in value.entries()]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise value.wrong("a list of its lower and its upper end")
    return ends[0], ends[1]


def _sequences(value: JsonValue, n_intervals: int) -> tuple[SampledSequence, ...]:
    """The sequences, the strongest first; buckets that are counted from 0 are counted from 1."""
    intervals = [each.get("interval").whole(0, n_intervals) for each in value.entries()]
    from_one = int(0 in intervals)
    sequences = [
        _sequence(each, min(interval + from_one, n_intervals))
        for each, interval in zip(value.entries(), intervals, strict=True)
    ]
    return tuple(sorted(sequences, key=lambda each: (-each.interval, -(each.max_activation or 0.0), each.sequence_id)))


def _sequence(value: JsonValue, interval: int) -> SampledSequence:
    tokens = tuple(each.text() for each in value.get("tokens").entries())
    if not 1 <= len(tokens) <= MAX_TOKENS:
        raise ScanError(f"{value.where} has {len(tokens):,} tokens; from 1 to {MAX_TOKENS:,} are read.")
    last = len(tokens) ** 2 - 1
    indices, values = value.get("attention_indices").wholes(0, last), value.get("attention_values").numbers()
    ids = tuple(value.get("token_ids").wholes(0, WHOLE).tolist())
    if len(values) != len(indices) or len(ids) not in (0, len(tokens)):
        raise ScanError(
            f"{value.where} has {len(indices):,} indices for {len(values):,} weights and {len(ids):,} ids for "
            f"{len(tokens):,} tokens; each has to have its own."
        )
    return SampledSequence(
        sequence_id=value.get("sequence_id").whole(0, 2**64),
        interval=interval,
        tokens=tokens,
        attention_indices=indices,
        attention_values=values,
        max_activation=value.get("max_activation").number(),
        document=value.get("document").text(""),
        start=_count(value.get("start")),
        token_ids=ids,
    )


def _histogram(value: JsonValue) -> Histogram:
    edges, values = (tuple(e.some_number() for e in value.get(name).entries()) for name in ("bin_edges", "bin_values"))
    if len(edges) != len(values) + 1 or list(edges) != sorted(edges):
        raise ScanError(f"{value.where} has {len(edges)} edges for {len(values)} values; it has to have one more.")
    return Histogram(edges, values)


def _top_tokens(value: JsonValue) -> tuple[tuple[str, float], ...]:
    return tuple((each.get("token").text(), each.get("weight").some_number()) for each in value.entries())


def _pair(value: JsonValue) -> TokenPair:
    return TokenPair(value.get("query").text(), value.get("key").text(), value.get("weight").some_number())


def _matters(value: JsonValue) -> Matters:
    return Matters(**{each.name: value.get(each.name).if_any(_effect) for each in fields(Matters)})


def _effect(value: JsonValue) -> Effect | None:
    mean = value.get("mean").number()
    if mean is None:
        return None
    return Effect(mean, value.get("interval").if_any(_interval), _count(value.get("n")))


def _provenance(value: JsonValue) -> Provenance:
    return Provenance(
        version=_count(value.get("version")) or 1,
        model=value.get("model").text(""),
        revision=value.get("revision").if_any(lambda each: each.text()),
        corpus=value.get("corpus").text(""),
        step=_count(value.get("step")),
        settings=value.get("settings").object(),
        complete=value.get("complete").value is not False,
        n_documents=_count(value.get("n_documents")),
        n_sequences=_count(value.get("n_sequences")),
        n_tokens=_count(value.get("n_tokens")),
        n_skipped=_count(value.get("n_skipped")),
        skipped=tuple(each.object() for each in value.get("skipped").entries()),
        loss=value.get("loss").number(),
    )


def _count(value: JsonValue) -> int | None:
    return value.if_any(lambda each: each.whole(0, WHOLE))
