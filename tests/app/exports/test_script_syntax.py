"""No name and no text becomes code: the syntax trees of every page's script, of hostile names and texts."""

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headlight.app.exports.script import written
from headlight.app.frame.prompt_list import Prompt
from headlight.app.pages import (
    attention,
    corpus,
    directions,
    experiments,
    features,
    flow,
    generate,
    graph,
    heads,
    inside,
    lens,
    mlp,
    patching,
    prompts,
    residual,
    translate,
    weights,
    why,
)
from headlight.app.pages.directions.direction_view import study_question
from headlight.app.pages.experiments import circuit, circuit_exports, experiment
from headlight.app.pages.experiments.circuit import CircuitView
from headlight.app.pages.prompts.view import Listed
from headlight.app.registry import VIEWS
from headlight.app.runs import circuits, comparisons, direction_studies, prompt_sets, translations
from headlight.app.selection import Selection
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from headlight.model.runs.edits import AblateHeads, EditFeature, Patch, Steer
from tests.app.choosing import selection_of
from tests.headvis_tree import write_tree
from tests.saved_dictionary import save_dictionary
from tests.small_model import CFG, save_small

ATTACK = 'gpt"""; open("ran","w")\r\n\'\'\'; open("ran","w")\\"""\n#{0} %s \u2028`id`'
NAME = ATTACK.replace("/", "")  # as a file's
TEXTS = (f"one two {ATTACK} one two", ATTACK)
HOOK = "blocks.1.hook_resid_pre"
LISTED = tuple(Listed(Prompt(text, ATTACK, ((ATTACK, ATTACK),)), True, "") for text in TEXTS)

EDITS = (
    AblateHeads(((0, 1),), "mean", over=TEXTS),
    Steer(1, ATTACK, "two", 1.5, (3,)),
    Patch("blocks.2.hook_resid_post", ATTACK, ()),
    EditFeature(NAME, HOOK, 7, "clamp", 3.0),
)
COMPARED: dict[str, Any] = {"prompt_b": ATTACK}
EDITED: dict[str, Any] = {"edits": EDITS, "mean_over": TEXTS}
SAID: dict[str, Any] = {"target": " one", "distractor": "'''"}


def of_prompts(runs: Any, now: Selection) -> str:
    """The script of a list whose file, texts and labels are hostile."""
    export = prompts.export(LISTED)
    assert export is not None
    return export.script(runs, now)


def of_a_set(runs: Any, now: Selection) -> str:
    """The script of a set whose name, texts and labels are hostile."""
    texts = [f"one two {ATTACK} {word}" for word in ("one", "two", "three")]
    pairs = tuple(PromptPair(text, None, (" one",), (" two",), {}, {ATTACK: ATTACK}) for text in texts)
    known = prompt_sets.known(PromptSet(ATTACK, pairs))
    return experiments.exports.make_export((known,)).script(runs, now)


def of_a_circuit(runs: Any, now: Selection) -> str:
    """The script of the circuit of such a set, beside that of another method and a file of a hostile name."""
    texts = [f"one two {ATTACK} {word}" for word in ("one", "two", "three", "four")]
    pairs = tuple(PromptPair(text, None, (" one",), (" two",), {}, {ATTACK: ATTACK}) for text in texts)
    known = prompt_sets.known(PromptSet(ATTACK, pairs))

    def view_of(**more: Any) -> tuple[CircuitView, Selection]:
        options = {"exp_circuit": True, "exp_circ_method": "eap", "exp_circ_baseline": "zero", **more}
        chosen = selection_of(model=now.model, prompt=now.prompt, **options)
        return circuit.view_of(experiment.rows_of((known,), runs, chosen), chosen), chosen

    data = circuits.file_of(view_of()[0].whole(), now.model, ".json")
    file = circuits.add_file(f"{NAME}.json", data, now.model)
    view, chosen = view_of(exp_circ_file=file, exp_circ_beside="flow")
    assert list(view.files) == [f"{NAME}.json"]
    return circuit_exports.script(view, runs, chosen)


def of_a_direction(runs: Any, now: Selection) -> str:
    """The script of a direction between prompts whose name, texts and labels are hostile."""
    rows = [{"clean": f"one two {ATTACK} {n}", "kind": f"{n % 2} {ATTACK}", "group": n // 2} for n in range(12)]
    name = direction_studies.add_set(f"{NAME}.jsonl", "\n".join(map(json.dumps, rows)).encode())
    chosen = selection_of(
        model=now.model, prompt=now.prompt, dir_set=name, dir_column="kind", dir_up=" one", dir_down=" two"
    )
    direction_studies.answer(study_question(runs, chosen))
    return directions.EXPORT.script(runs, chosen)


Script = Callable[[Any, Selection], str]
SCRIPTS: list[tuple[str, Script, dict[str, Any]]] = [
    ("attention", attention.EXPORT.script, COMPARED),
    ("inside", inside.EXPORT.script, EDITED),
    ("residual", residual.EXPORT.script, EDITED),
    ("lens", lens.EXPORT.script, {"lens": "tuned", "lens_from": ATTACK, "scope_prompt": ATTACK, **COMPARED}),
    ("prompts", of_prompts, {}),
    ("why", why.EXPORT.script, {**SAID, "dictionary": NAME, "heads": ((1, 0),)}),
    ("why", why.EXPORT.script, EDITED),
    ("experiments", of_a_set, {"exp_measure": "dla"}),
    ("experiments", of_a_circuit, {}),
    ("directions", of_a_direction, {}),
    ("patching", patching.EXPORT.script, {"prompt_b": ATTACK + " one", "align": "position", **SAID}),
    ("flow", flow.EXPORT.script, COMPARED),
    ("mlp", mlp.EXPORT.script, SAID),
    ("features", features.EXPORT.script, {"dictionary": NAME, "feature": (1, 7), **SAID}),
    ("graph", graph.EXPORT.script, {"graph_mode": "circuit", **COMPARED}),
    ("graph", graph.EXPORT.script, SAID),
    ("heads", heads.export(TEXTS).script, {"finder_data": "prompts"}),
    ("heads", heads.export(TEXTS).script, EDITED),
    ("corpus", corpus.EXPORT.script, {"scan": f"{NAME} scan", "scan_b": f"{NAME} late"}),
    ("weights", weights.EXPORT.script, {"circuit_token": "'''", "model_b": "mini", **COMPARED}),
    ("generate", generate.EXPORT.script, {"n_new": 2, **COMPARED}),
    ("translate", translate.EXPORT.script, {"translation": "ko ba", "source_b": "ba su"}),
]
NODES = (
    *(ast.Module, ast.Expr, ast.ImportFrom, ast.alias, ast.Assign, ast.Name, ast.Load, ast.Store, ast.Constant),
    *(ast.Attribute, ast.Call, ast.keyword, ast.Subscript, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.USub),
)
CALLED = {"print_tables", "load", "load_seq2seq", "run_prompt", "Comparison", "compare", "open_dictionary", "read_tree"}
CALLED |= {
    "translate",
    "Translations",
    "compare_translations",
    "GraphSettings",
    "CellQuestion",
    "NeuronQuestion",
    "Parts",
    "Scope",
    "FeatureOrder",
}
CALLED |= {"ExperimentSettings", "run_experiment", "DirectionSettings", "PromptSet", "PromptPair"}
CALLED |= {"CircuitSettings", "study_circuit", "read_circuit"}
CALLED |= {"LogitDifference", "AblateHeads", "Steer", "Patch", "EditFeature"}
ATTRIBUTES = {"cfg", "edges", "mask"}


@pytest.fixture
def models_folder(settings: dict[str, object], tmp_path: Path) -> Path:
    """A models folder in which a model, a dictionary and two scans are called so as to run."""
    folder = tmp_path / "models"
    save_small(folder / f"{NAME} model")
    save_dictionary(folder / NAME, HOOK, CFG.d_model)
    config = {"version": 1, "model": ATTACK, "corpus": ATTACK, "n_documents": 12, "loss": 2.5}
    for step, name in enumerate((f"{NAME} scan", f"{NAME} late")):
        write_tree(folder / name, ATTACK, (CFG.n_layers, CFG.n_heads), settings={**config, "step": step})
    settings["models_folder"] = str(folder)
    return folder


def unexpected(script: str) -> list[str]:
    """What a script has that none of ours needs: other syntax, other names, other modules, other calls."""
    nodes = list(ast.walk(ast.parse(script)))
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return [
        *(type(node).__name__ for node in nodes if not isinstance(node, NODES)),
        *(node.id for node in nodes if isinstance(node, ast.Name) and node.id not in imported | made),
        *(node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr not in ATTRIBUTES),
        *(name for name in called - CALLED if not name.endswith("_tables")),
        *(module for module in modules if module != "headlight.model"),
    ]


def test_every_page_has_its_case() -> None:
    assert {slug for slug, *_ in SCRIPTS} == {view.slug for view in VIEWS}


@pytest.mark.usefixtures("unchecked")  # a batch grows where ablations run side by side
@pytest.mark.parametrize(("slug", "script", "fields"), SCRIPTS)
def test_no_name_and_no_text_becomes_code(
    slug: str, script: Script, fields: dict[str, Any], models_folder: Path, translator: str
) -> None:
    if slug == "translate":
        shutil.copytree(translator, models_folder / f"{NAME} translator")
        now = selection_of(translator=f"{NAME} translator", source="ba ko li", beams=2, **fields)
        text = script(translations.for_selection(now), now)
    else:
        now = selection_of(**{"model": f"{NAME} model", "prompt": f"one two {ATTACK} one two", **fields})
        text = script(comparisons.for_selection(now), now)
    assert not unexpected(text)
    constants = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert any(NAME in constant for constant in constants if isinstance(constant, str))


@pytest.mark.parametrize(
    "purpose", ['"""', "'''\"\"\"", 'ends with "', "ends with \\", ATTACK, "\udc80 \x00 \f \u2028"]
)
def test_a_purpose_is_a_docstring_and_nothing_else(purpose: str) -> None:
    script = written(purpose, {"load"}, ['load("mini")'])
    docstring = ast.parse(script.encode()).body[0]
    assert isinstance(docstring, ast.Expr)
    assert ast.literal_eval(docstring.value).partition("\n\nThe numbers of")[0] == purpose
    assert not unexpected(script)
