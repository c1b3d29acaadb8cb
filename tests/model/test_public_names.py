"""What scripts and notebooks import of the library: the names that are promised to stay, and those of version 0.1."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

import headlight.model as library

# What the scripts of the pages imported in version 0.1.
FORMER = """
from headlight.model import Comparison, compare, load, load_seq2seq, run_prompt
from headlight.model.corpus.reading import read_tree
from headlight.model.decoding import Translations, compare_translations, translate
from headlight.model.dictionaries.opening import open_dictionary
from headlight.model.edits import AblateHeads, AblateNeurons, ClampNeurons, CutEdge, Drop, EditFeature, FreezePatterns
from headlight.model.edits import Patch, Steer
from headlight.model.explain.explained import Asked
from headlight.model.graph.building import Aim
from headlight.model.patching.cells import Parts
from headlight.model.patching.patchscope import Scope
from headlight.model.patching.sides import LogitDifference
from headlight.model.reports import attention_tables, circuit_tables, corpus_tables, edge_tables, feature_tables
from headlight.model.reports import flow_tables, generate_tables, graph_tables, head_tables, inside_tables, lens_tables
from headlight.model.reports import mlp_tables, patching_tables, print_tables, prompt_tables, residual_tables
from headlight.model.reports import translate_tables, why_feature_tables, why_tables
from headlight.model.reports.features import Order
from headlight.model.reports.graph import Settings
from headlight.model.reports.mlp import Asked
"""
RENAMED = {
    ("headlight.model.explain.explained", "Asked"): "CellQuestion",
    ("headlight.model.reports.features", "Order"): "FeatureOrder",
    ("headlight.model.reports.graph", "Settings"): "GraphSettings",
    ("headlight.model.reports.mlp", "Asked"): "NeuronQuestion",
}
IMPORTS = [
    (str(node.module), alias.name)
    for node in ast.parse(FORMER).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
]


def test_every_public_name_is_what_type_checkers_see() -> None:
    tree = ast.parse(Path(library.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: str(each.module)
        for each in checked.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    assert sorted(seen) == sorted(library.__all__)
    for name, module in seen.items():
        assert getattr(library, name) is getattr(import_module(module), name)
        assert getattr(library, name).__doc__


@pytest.mark.parametrize(("module", "name"), IMPORTS)
def test_a_name_of_version_0_1_is_what_it_was(module: str, name: str) -> None:
    assert getattr(import_module(module), name) is getattr(library, RENAMED.get((module, name), name))


def test_a_script_of_version_0_1_prints_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "from headlight.model import Comparison, load, run_prompt\n"
        "from headlight.model.edits import CutEdge\n"
        "from headlight.model.explain.explained import Asked\n"
        "from headlight.model.reports import print_tables, why_tables\n"
        "model = load('mini')\n"
        "a = run_prompt(model, 'one two three one two', prepend_bos=True, edits=(CutEdge((0, 1), 3, 1),))\n"
        "asked = Asked(head=(2, 1), query=4, key=None, target=10, distractor=11, place=4)\n"
        "print_tables(why_tables(Comparison(a), asked=asked))\n"
    )
    exec(compile(script, "script.py", "exec"), {"__name__": "__main__"})
    assert "run,query's part,key's part,score" in capsys.readouterr().out


def test_no_other_name_is_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("headlight.model.explain.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        _ = library.nothing
    assert "headlight.model.explain.nothing" not in sys.modules
