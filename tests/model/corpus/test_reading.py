"""Trees of HeadVis that were written by hand, read back; and broken ones, each with a plain message."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight.model.base.errors import ScanError
from headlight.model.corpus.reading import is_tree, read_dashboard, read_tree
from headlight.model.corpus.titles import estimates
from tests.headvis_tree import METRICS, figures, head_file, write, write_tree

TOLD = {"version": 1, "model": "mini", "corpus": "held-out.txt", "step": 400, "n_documents": 90, "loss": 2.5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "scan", shape=(2, 3))


def test_an_export_has_every_heads_figures_and_sequences(folder: Path) -> None:
    tree = read_tree(folder)
    assert is_tree(folder)
    assert (tree.model_name, tree.n_layers, tree.n_heads, tree.n_intervals) == ("mini", 2, 3, 5)
    assert tree.metrics == METRICS
    assert tree.provenance is None
    assert estimates(tree, "induction_score").values[1, 2] == figures(1, 2)["induction_score"]
    assert np.isnan(estimates(tree, "induction_score").low).all()
    board = read_dashboard(tree, (1, 2))
    assert [(each.interval, each.sequence_id) for each in board.sequences] == [(5, 2), (5, 3), (1, 7)]
    assert [each.strongest for each in board.sequences] == [(4, 2), (5, 3), (2, 1)]  # (0, 0) and (5, 0) do not count
    assert board.top_query_tokens[0] == (" door", 1.75)
    assert board.histogram is not None
    assert board.histogram.bin_values == (4, 0, 1, 2)
    assert board.matters is None


def test_a_scan_of_ours_says_more(tmp_path: Path) -> None:
    tree = read_tree(write_tree(tmp_path, shape=(2, 3), settings=TOLD))
    assert tree.provenance is not None
    assert (tree.provenance.step, tree.provenance.corpus, tree.provenance.loss, tree.provenance.revision) == (
        400,
        "held-out.txt",
        2.5,
        None,
    )
    distances = estimates(tree, "qk_distance")
    assert (distances.low[1, 2], distances.high[1, 2]) == (5.5 - 0.01, 5.5 + 0.02)
    board = read_dashboard(tree, (0, 1))
    assert board.matters is not None
    assert board.matters.when_active is not None
    assert (board.matters.when_active.interval, board.matters.when_active.n) == ((0.25, 0.5), 20)
    assert board.top_pairs[0].key == "\n"


def test_buckets_counted_from_0_are_counted_from_1(folder: Path) -> None:
    content = head_file(0, 0)
    for each in content["sequences"]:
        each["interval"] -= 1
    write(folder / "heads" / "L0H0.json", content)
    assert [each.interval for each in read_dashboard(read_tree(folder), (0, 0)).sequences] == [5, 5, 1]


def test_half_a_character_and_no_number_can_be_shown(folder: Path) -> None:
    """A lone surrogate cannot be sent to a browser; NaN is what Python writes for no number."""
    content = json.dumps(head_file(0, 0)).replace('" key"', '"\\ud83d"')
    (folder / "heads" / "L0H0.json").write_text(content.replace('"mean_max_activation": 0.4', '"m": NaN'))
    board = read_dashboard(read_tree(folder), (0, 0))
    assert board.sequences[0].tokens[1] == "\ufffd"
    assert board.statistics["m"] is None


ROW = {"layer": 0, "head": 0}
BROKEN_TREES: dict[str, tuple[str, Any, str]] = {
    "layers": ("config.json", {"n_layers": 10**9, "n_heads": 10**9}, "config.json: n_layers is 1000000000"),
    "list": ("config.json", [1], "config.json is .1.; it has to be an object"),
    "way out": ("config.json", {"n_layers": 2, "n_heads": 3, "head_data_pattern": "../../passwd"}, "a file's name"),
    "beyond": ("scatter_data.json", [{"layer": 0, "head": 3}], r"scatter_data.json\[0\]: head is 3"),
    "empty": ("scatter_data.json", [], "holds no head"),
    "interval": ("scatter_data.json", [{**ROW, "x": 1, "intervals": {"x": [2]}}], "its lower and its upper end"),
}


@pytest.mark.parametrize("case", BROKEN_TREES)
def test_a_broken_tree_says_what_is_wrong(case: str, folder: Path) -> None:
    name, content, message = BROKEN_TREES[case]
    write(folder / name, content)
    with pytest.raises(ScanError, match=message):
        read_tree(folder)


BROKEN_HEADS: dict[str, tuple[dict[str, Any], str]] = {
    "beyond": ({"attention_indices": [36], "attention_values": [1]}, r"attention_indices\[0\] is 36"),
    "unequal": ({"attention_indices": [1, 2], "attention_values": [1]}, "2 indices for 1 weights"),
    "tokens": ({"tokens": [3]}, r"tokens\[0\] is 3; it has to be a text"),
    "no tokens": ({"tokens": []}, "has 0 tokens"),
    "bucket": ({"interval": 6}, "from 0 to 5"),
    "ids": ({"token_ids": [1]}, "1 ids for 6 tokens"),
    "large": ({"attention_indices": [1], "attention_values": [10**400]}, "a finite number"),
}


@pytest.mark.parametrize("case", BROKEN_HEADS)
def test_a_broken_head_says_what_is_wrong(case: str, folder: Path) -> None:
    change, message = BROKEN_HEADS[case]
    content = head_file(0, 0)
    content["sequences"][0] |= change
    write(folder / "heads" / "L0H0.json", content)
    with pytest.raises(ScanError, match=message):
        read_dashboard(read_tree(folder), (0, 0))


def test_what_is_missing_no_json_or_elsewhere_says_so(folder: Path, tmp_path: Path) -> None:
    tree = read_tree(folder)
    heads = folder / "heads"
    (heads / "L0H0.json").unlink()
    (heads / "L0H1.json").write_text("[" * 100_000)
    write(tmp_path / "secret.json", head_file(0, 0))
    (heads / "L0H2.json").unlink()
    (heads / "L0H2.json").symlink_to(tmp_path / "secret.json")
    for head, message in enumerate(("scan has no heads/L0H0.json", "cannot be read as JSON", "a link out of scan")):
        with pytest.raises(ScanError, match=message):
            read_dashboard(tree, (0, head))
    with pytest.raises(ScanError, match="There is no folder"):
        read_tree(tmp_path / "none")
