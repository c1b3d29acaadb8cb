"""Opening a tree of HeadVis: ours, Neuronpedia's or anybody's, of which nothing is taken on trust."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from headlight.model.base.errors import ScanError
from headlight.model.base.files import is_utf8
from headlight.model.corpus.checked import Given, read
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
DEEPEST, MOST_FOLDERS = 3, 1000
MOST_HEADS = 2**18
MOST_TOKENS = 2**20  # of one sequence: its weights' indices stay below 2**40
WHOLE = 2**53


def is_tree(folder: Path) -> bool:
    """Whether a folder has the two files that every tree begins with."""
    return all(os.path.isfile(folder / name) for name in (CONFIG, SCATTER))  # unlike Path's, this never raises


def trees_in(folder: Path) -> dict[str, Path]:
    """The trees in a folder and in those within, by their paths from it; none that a link would fetch from elsewhere.

    Neuronpedia's exports lie three folders deep: `<model>/headvis/<corpus>`.
    """
    return {str(found.relative_to(folder)): found for found in _trees(folder, DEEPEST)}


def _trees(folder: Path, deeper: int) -> Iterator[Path]:
    try:
        children = sorted(folder.iterdir(), key=_by_numbers)[:MOST_FOLDERS]
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
    """What folders are sorted by: numbers within their names count as such, as those of training steps are."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", path.name)]


def shipped_scans() -> dict[str, Path]:
    """The folders of the scans that come with the project, by name."""
    return trees_in(SHIPPED)


def read_tree(source: str | Path) -> Tree:
    """A shipped scan by name, or any tree by its folder: its model, corpus and every head's figures.

    The heads' own files are read when one is looked at.

    Raises:
        ScanError: there is no such folder, or a file of it is missing or not what it has to be.
    """
    path = shipped_scans().get(str(source), Path(source).expanduser())
    if not path.is_dir():
        raise ScanError(f"There is no folder {str(source)!r}. Give the folder of a finished scan.")
    config = read(path, CONFIG)
    n_layers, n_heads = (config.get(name).whole(1, MOST_HEADS) for name in ("n_layers", "n_heads"))
    if n_layers * n_heads > MOST_HEADS:
        raise ScanError(f"{CONFIG} tells of {n_layers:,} layers of {n_heads:,} heads; at most {MOST_HEADS:,} are read.")
    rows = _rows(read(path, SCATTER), n_layers, n_heads)
    listed = tuple(each.text() for each in config.get("metrics").entries())
    found = dict.fromkeys(name for row in rows.values() for name in row.values)
    return Tree(
        folder=path,
        model_name=config.get("model_name").text("a model"),
        dataset_name=config.get("dataset_name").text("a corpus"),
        n_layers=n_layers,
        n_heads=n_heads,
        n_intervals=config.get("n_intervals").if_any(lambda each: each.whole(1, 1000)) or 1,
        metrics=tuple(name for name in dict.fromkeys((*listed, *found)) if name in found),
        descriptions={name: each.text("") for name, each in config.get("metric_descriptions").named()},
        rows=rows,
        pattern=_pattern(config.get("head_data_pattern").text(PATTERN)),
        told=config.get("headlight").if_any(_provenance),
    )


def read_dashboard(tree: Tree, head: Head) -> Dashboard:
    """All that a tree has of one head.

    Raises:
        ScanError: its file is missing or not what it has to be.
    """
    layer, number = head
    name = tree.pattern.replace("{layer}", str(layer)).replace("{head}", str(number))
    given = read(tree.folder, f"{HEADS}/{name}")
    return Dashboard(
        layer,
        number,
        sequences=_sequences(given.get("sequences"), tree.n_intervals),
        histogram=given.get("histogram").if_any(_histogram),
        qk_distance_histogram=given.get("qk_distance_histogram").if_any(_histogram),
        top_query_tokens=_top_tokens(given.get("top_query_tokens")),
        top_key_tokens=_top_tokens(given.get("top_key_tokens")),
        top_pairs=tuple(_pair(each) for each in given.get("top_pairs").entries()),
        statistics={name: each.number() for name, each in given.get("statistics").named()},
        matters=given.get("matters").if_any(_matters),
    )


def _pattern(pattern: str) -> str:
    """The heads' file names, which lead to no other folder."""
    if re.fullmatch(r"[\w.-]*", pattern.replace("{layer}", "0").replace("{head}", "0")) is None:
        raise ScanError(f"{CONFIG}: head_data_pattern is {pattern!r}; it has to be a file's name, as {PATTERN!r}.")
    return pattern


def _rows(given: Given, n_layers: int, n_heads: int) -> Mapping[Head, HeadRow]:
    rows = [_row(each, n_layers, n_heads) for each in given.entries()]
    if not rows:
        raise ScanError(f"{SCATTER} holds no head. Make the scan again.")
    return {(row.layer, row.head): row for row in sorted(rows, key=lambda row: (row.layer, row.head))}


def _row(given: Given, n_layers: int, n_heads: int) -> HeadRow:
    layer, head = given.get("layer").whole(0, n_layers - 1), given.get("head").whole(0, n_heads - 1)
    # What is no number is no figure: others may stand there too, such as coordinates of a map.
    figures = {name: each.number() for name, each in given.named() if name not in ("layer", "head") and each.is_number}
    return HeadRow(layer, head, figures, {name: _interval(each) for name, each in given.get("intervals").named()})


def _interval(given: Given) -> Interval:
    ends = [each.some_number() for each in given.entries()]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise given.wrong("a list of its lower and its upper end")
    return ends[0], ends[1]


def _sequences(given: Given, n_intervals: int) -> tuple[SampledSequence, ...]:
    """The sequences, the strongest first; buckets that are counted from 0 are counted from 1."""
    intervals = [each.get("interval").whole(0, n_intervals) for each in given.entries()]
    from_one = int(0 in intervals)
    found = [
        _sequence(each, min(interval + from_one, n_intervals))
        for each, interval in zip(given.entries(), intervals, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: (-each.interval, -(each.max_activation or 0.0), each.sequence_id)))


def _sequence(given: Given, interval: int) -> SampledSequence:
    tokens = tuple(each.text() for each in given.get("tokens").entries())
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise ScanError(f"{given.where} has {len(tokens):,} tokens; from 1 to {MOST_TOKENS:,} are read.")
    last = len(tokens) ** 2 - 1
    indices, values = given.get("attention_indices").wholes(0, last), given.get("attention_values").numbers()
    ids = tuple(given.get("token_ids").wholes(0, WHOLE).tolist())
    if len(values) != len(indices) or len(ids) not in (0, len(tokens)):
        raise ScanError(
            f"{given.where} has {len(indices):,} indices for {len(values):,} weights and {len(ids):,} ids for "
            f"{len(tokens):,} tokens; each has to have its own."
        )
    return SampledSequence(
        sequence_id=given.get("sequence_id").whole(0, 2**64),
        interval=interval,
        tokens=tokens,
        attention_indices=indices,
        attention_values=values,
        max_activation=given.get("max_activation").number(),
        document=given.get("document").text(""),
        start=_count(given.get("start")),
        token_ids=ids,
    )


def _histogram(given: Given) -> Histogram:
    edges, values = (tuple(e.some_number() for e in given.get(name).entries()) for name in ("bin_edges", "bin_values"))
    if len(edges) != len(values) + 1 or list(edges) != sorted(edges):
        raise ScanError(f"{given.where} has {len(edges)} edges for {len(values)} values; it has to have one more.")
    return Histogram(edges, values)


def _top_tokens(given: Given) -> tuple[tuple[str, float], ...]:
    return tuple((each.get("token").text(), each.get("weight").some_number()) for each in given.entries())


def _pair(given: Given) -> TokenPair:
    return TokenPair(given.get("query").text(), given.get("key").text(), given.get("weight").some_number())


def _matters(given: Given) -> Matters:
    return Matters(**{each.name: given.get(each.name).if_any(_effect) for each in fields(Matters)})


def _effect(given: Given) -> Effect | None:
    mean = given.get("mean").number()
    if mean is None:
        return None
    return Effect(mean, given.get("interval").if_any(_interval), _count(given.get("n")))


def _provenance(given: Given) -> Provenance:
    return Provenance(
        version=_count(given.get("version")) or 1,
        model=given.get("model").text(""),
        revision=given.get("revision").if_any(lambda each: each.text()),
        corpus=given.get("corpus").text(""),
        step=_count(given.get("step")),
        settings=given.get("settings").object(),
        complete=given.get("complete").value is not False,
        n_documents=_count(given.get("n_documents")),
        n_sequences=_count(given.get("n_sequences")),
        n_tokens=_count(given.get("n_tokens")),
        n_skipped=_count(given.get("n_skipped")),
        skipped=tuple(each.object() for each in given.get("skipped").entries()),
        loss=given.get("loss").number(),
    )


def _count(given: Given) -> int | None:
    return given.if_any(lambda each: each.whole(0, WHOLE))
