"""The rules that no single module can keep for itself: who imports whom, and what no file may contain.

The tables are the rules. A new module of `model` or `app` needs a place in `LEVELS`, and nothing else here.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.places import ROOT

# A unit, a folder of `model` or `app` or one of app's files, imports from the lines above its own, never from its own
# line or below.
LEVELS = [
    "model.base model.former_names",
    "model.measure model.compute model.text",
    "model.nn",
    "model.runs",
    "model.attention model.attribution model.checkpoints model.flow model.patching model.prompt_sets model.weights",
    "model.circuits model.decoding model.features model.lens model.neurons",
    "model.directions model.graph model.roles",
    "model.corpus",
    "model.experiments",
    "model",
    "model.training",
    "app.glossary app.exports.csv_files app.figures",
    "app.components app.server app.selection",
    "app.runs",
    "app.parts",
    "app.exports",
    "app.frame",
    "app.pages",
    "app.registry app.show",
    "app.view_file",
    "app.main",
    "app.server.server",
    "app.commands",
    "app.scanning",
    "app.experimenting",
    "app.circuit_experimenting",
    "app.__main__ app.experiment app.scan",
    "recipes",
]
LEVEL = {unit: level for level, units in enumerate(LEVELS) for unit in units.split()}

# The formulas: arrays and tensors in, measures out. They know no run and no model.
FORMULAS = {
    "model.measure",
    "model.attention.grouping",
    "model.attention.residual",
    "model.attention.vertical_scores",
    "model.attribution.direct_effects",
    "model.flow.information_flow",
    "model.flow.change",
    "model.flow.shares",
    "model.flow.readout",
    "model.lens.best_words",
    "model.lens.logit_lens",
    "model.roles.detectors",
    "model.roles.head_scores",
    "model.weights.qk_ov_circuits",
    "model.weights.composition",
    "model.weights.pair_search",
}
FORMULAS_MAY_IMPORT = FORMULAS | {"model.base.errors", "model.nn.config"}

# Of the lines above, these may import no more than this.
NO_MORE_THAN = {
    # What their scripts say and draw as these do.
    "app.components": {"app.figures", "model.attention.axis", "model.attention.fields"},
    "app.selection": {"model.measure", "model.runs.edits", "model.base.errors", "model.text.chat"},
    "app.exports.csv_files": set[str](),
    "app.figures": set[str](),
}

# What of the library the pages may not name: everything that loads or runs a model is left to these parts of the app.
LOADS_OR_RUNS = {
    "model.checkpoints",
    "model.compute",
    "model.corpus",
    "model.features.opening",
    "model.lens.fitting",
    "model.lens.held_out",
    "model.lens.opening",
    "model.nn",
    "model.text.tokenizer",
    "model.training",
}
PAGES_MAY_NAME = {"model.corpus.tables", "model.corpus.titles", "model.corpus.tree"}
MAY_RUN_MODELS = {"app.runs", "app.frame.checks", "app.parts.detection", "app.scan", "app.scanning"}
MAY_RUN_MODELS |= {"app.experiment", "app.experimenting", "app.circuit_experimenting", "app.pages.weights.analysis"}

# What may be imported besides the standard library; "lazily" is inside a function, or for the type checker alone.
THIRD_PARTY = {
    "model": {"torch", "einops", "jaxtyping"},
    "model.base": {"torch", "jaxtyping", "huggingface_hub lazily"},
    "model.checkpoints": {
        *{"torch", "jaxtyping", "numpy", "safetensors"},
        *{"gguf lazily", "huggingface_hub lazily", "transformers lazily"},
    },
    "model.corpus": {"torch", "jaxtyping", "numpy", "safetensors", "ray lazily"},
    "model.experiments": {"torch", "jaxtyping", "numpy"},
    "model.directions": {"torch", "jaxtyping", "safetensors", "sklearn lazily"},
    "model.features": {"torch", "jaxtyping", "numpy", "huggingface_hub lazily", "yaml lazily"},
    "model.lens": {"torch", "einops", "jaxtyping", "numpy", "safetensors"},
    "model.measure": {"torch", "einops", "jaxtyping", "rapidfuzz"},
    "model.nn": {"torch", "einops", "jaxtyping", "accelerate lazily"},
    "model.prompt_sets": {"torch", "jaxtyping"},
    "model.roles": {"torch", "jaxtyping", "numpy"},
    "model.text": {
        *{"torch", "jaxtyping", "tokenizers"},
        *{"transformers lazily", "pyarrow lazily", "datasets lazily"},
    },
    "model.training": {"torch", "jaxtyping", "numpy", "tokenizers", "safetensors", "tqdm"},
    "recipes": {"torch", "einops", "jaxtyping", "numpy", "tokenizers", "safetensors", "tqdm"},
    "app": {"streamlit"},
    "app.runs": {"streamlit", "torch", "numpy", "jaxtyping"},
    "app.exports": {"torch", "numpy", "pandas", "jaxtyping", "matplotlib lazily"},
    "app.scanning": {"tqdm"},
    "app.experimenting": {"tqdm"},
    "app.circuit_experimenting": {"tqdm"},
    "app.server": {"streamlit", "starlette", "uvicorn", "prometheus_client"},
    "app.components": {"streamlit", "numpy", "jaxtyping"},
    "app.figures": {"numpy", "plotly lazily"},
    "app.frame": {"streamlit", "numpy", "torch", "jaxtyping"},
    "app.parts": {"streamlit", "numpy", "torch", "jaxtyping"},
    "app.pages": {"streamlit", "numpy", "pandas", "torch", "jaxtyping"},
    "app.show": {"numpy", "torch", "jaxtyping"},
    "app.view_file": {"numpy", "jaxtyping", "safetensors lazily"},
}

# Files are changed by `model.base.files` alone: what writes otherwise does it inside `with replacing(...)`, whose file
# takes its place when it is whole, in a folder of its own, or in one of these functions.
CHANGES_FILES = re.compile(
    r"\.(write_text|write_bytes|touch|unlink|rmdir|rename|symlink_to|hardlink_to|chmod|tofile)$"
    r"|^(os\.(remove|unlink|rename|replace|truncate|link|symlink)|shutil\.\w+|torch\.save|np\.save\w*|save_file|mkdtemp)$|GGUFWriter$"
)
WHOLE = ("replacing(", "replacing_together(", "TemporaryDirectory(")
MAY_CHANGE_FILES = {
    "model.lens.files._save": "inside replacing_together",
    "model.directions.files._write_gguf": "inside replacing",
    "model.corpus.packing.packed": "in memory",
    "app.exports.data._npz": "in memory",
    "model.checkpoints.downloads": "asks how much room there is",
}


@dataclass(frozen=True)
class Import:
    """One imported module, ours down to the file; `lazy` if importing the importer does not import it."""

    importer: str
    imported: str
    lazy: bool

    def __str__(self) -> str:
        return f"{self.importer} imports {self.imported}"


def _dotted(path: Path) -> str:
    return ".".join(("headlight", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {
    _dotted(path): path for folder in ("model", "app", "recipes") for path in sorted((ROOT / folder).rglob("*.py"))
}


def _not_on_import(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")


def _imports(module: str) -> Iterator[Import]:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    lazy = {id(inner) for node in ast.walk(tree) if _not_on_import(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, id(node) in lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield Import(module, submodule if submodule in MODULES else str(node.module), id(node) in lazy)


@cache  # not read before it is asked for: every worker of a test run imports this file
def _all_imports() -> list[Import]:
    return [import_ for module in MODULES for import_ in _imports(module)]


def _inside() -> list[Import]:
    return [import_ for import_ in _all_imports() if import_.imported in MODULES]


def _outside() -> list[Import]:
    known = {"headlight", *sys.stdlib_module_names}
    return [import_ for import_ in _all_imports() if import_.imported.split(".")[0] not in known]


def _unit(module: str) -> str:
    """The entry of LEVELS that a module belongs to: `model.nn` for `headlight.model.nn.layers.mlp`."""
    return next(unit for unit in _outward(module.partition(".")[2]) if unit in LEVEL)


def _outward(unit: str) -> Iterator[str]:
    """A unit and the folders around it, from within."""
    parts = unit.split(".")
    return (".".join(parts[:length]) for length in range(len(parts), 0, -1))


def _within(module: str, names: Collection[str]) -> bool:
    """Whether a module, or a folder that it lies in, is among these."""
    return not set(names).isdisjoint(_outward(module.partition(".")[2]))


def _wrong_arrow(import_: Import) -> bool:
    importer, imported = _unit(import_.importer), _unit(import_.imported)
    if importer == imported:
        return False
    allowed = NO_MORE_THAN.get(importer)
    return LEVEL[imported] >= LEVEL[importer] or (allowed is not None and not _within(import_.imported, allowed))


def test_every_module_has_a_level() -> None:
    """A folder of `model` has an entry of its own; what lies in `model` itself comes after all of them."""
    units = {".".join(module.split(".")[1:3]) for module in MODULES if module.startswith("headlight.model.")}
    assert not units - set(LEVEL)
    assert {_unit(module) for module in MODULES if module != "headlight.app"} == set(LEVEL)


def test_no_page_imports_another() -> None:
    def page(module: str) -> str:
        return ".".join(module.split(".")[:4]) if module.startswith("headlight.app.pages.") else ""

    pairs = [(page(import_.importer), page(import_.imported), import_) for import_ in _inside()]
    assert any(one and one == other for one, other, _ in pairs)
    assert not [str(import_) for one, other, import_ in pairs if one and other and one != other]


def test_imports_run_one_way() -> None:
    assert not [str(import_) for import_ in _inside() if _wrong_arrow(import_)]


def test_no_page_loads_or_runs_a_model_by_itself() -> None:
    from_pages = [
        f for f in _inside() if _unit(f.importer).startswith("app") and not _within(f.importer, MAY_RUN_MODELS)
    ]
    named = [import_ for import_ in from_pages if _within(import_.imported, {"model"})]
    assert named
    running = [import_ for import_ in named if _within(import_.imported, LOADS_OR_RUNS)]
    assert not [str(import_) for import_ in running if not _within(import_.imported, PAGES_MAY_NAME)]


def test_formulas_know_no_run_and_no_model() -> None:
    assert all(f"headlight.{name}" in MODULES for name in FORMULAS)
    theirs = [import_ for import_ in _inside() if _within(import_.importer, FORMULAS)]
    assert theirs
    assert not [str(import_) for import_ in theirs if not _within(import_.imported, FORMULAS_MAY_IMPORT)]


def test_third_party_packages_stay_where_they_belong() -> None:
    def allowed(import_: Import) -> bool:
        package, unit = import_.imported.split(".")[0], _unit(import_.importer)
        names = next(THIRD_PARTY[name] for name in _outward(unit) if name in THIRD_PARTY)
        return package in names or (import_.lazy and f"{package} lazily" in names)

    assert not [str(import_) for import_ in _outside() if not allowed(import_)]


def test_the_library_imports_without_transformers_and_without_the_app() -> None:
    code = "import sys, headlight.model as model; [getattr(model, name) for name in model.__all__]; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "torch" in run.stdout.split()
    assert not {"transformers", "streamlit", "headlight.app"} & set(run.stdout.split())


def test_the_flags_of_a_scan_are_told_without_waiting_for_torch() -> None:
    code = "import sys; from headlight.app.scan import parser; parser().format_help(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "headlight.model.corpus.settings" in run.stdout.split()
    assert not {"torch", "numpy", "headlight.app.scanning"} & set(run.stdout.split())


def _changes_files(module: str) -> Iterator[str]:
    """The functions in which a module changes files otherwise than inside `WHOLE`."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    whole = {id(inner) for block in blocks if _is_whole(block) for inner in ast.walk(block)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] or [tree]
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and id(node) not in whole and _changes(node):
                yield f"{module}.{getattr(function, 'name', '')}"


def _is_whole(block: ast.With) -> bool:
    return any(name in ast.unparse(item) for item in block.items for name in WHOLE)


def _changes(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    modes = [each.value for each in (*call.args, *(k.value for k in call.keywords)) if isinstance(each, ast.Constant)]
    writes = any(isinstance(mode, str) and re.fullmatch(r"[wax]b?\+?|rb?\+", mode) for mode in modes)
    return bool(CHANGES_FILES.search(name)) or (name.endswith("open") and writes)


def test_files_are_changed_in_one_place() -> None:
    functions = {name.partition(".")[2] for module in MODULES for name in _changes_files(module)}
    assert "model.base.files.write_bytes" not in functions  # it is inside `replacing`
    assert any(name.startswith("model.base.files.") for name in functions)
    others = {name for name in functions if not _within(f"headlight.{name}", {"model.base.files", *MAY_CHANGE_FILES})}
    assert not others
    assert not {name for name in MAY_CHANGE_FILES if not any(each.startswith(name) for each in functions)}


def _hits(pattern: str, folder: str, *suffixes: str) -> list[str]:
    """Every match of a pattern outside JavaScript's line comments, with the file it is in."""
    return [
        f"{path.relative_to(ROOT)}: {hit}"
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes
        for hit in re.findall(pattern, re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8")))
    ]


def test_no_page_writes_html() -> None:
    """Token text is data: Streamlit's doors to HTML open for the project's own style sheets alone."""
    sheets = r"for sheet in STYLES:\n        "
    assert not _hits(rf"unsafe_allow_\w+|(?<!{sheets})st\.html\(|components\.v1", "app", ".py")


def test_no_component_writes_html_or_reaches_beyond_the_pages_own_server() -> None:
    html = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new Function"
    assert _hits("textContent", "app", ".js")
    assert not _hits(
        rf"{html}|https?:|\bfetch\((?!`fetch/)|XMLHttpRequest|WebSocket|sendBeacon|@import|url\(", "app", ".js", ".css"
    )


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    folders = r"/(?:home|root|Users|work|workspace)/\w"
    kinds = (".py", ".js", ".css", ".md", ".json", ".csv", ".toml", ".txt", ".yml")
    assert not [
        hit for part in ("app", "model", "tests", "assets", "docs", ".github") for hit in _hits(folders, part, *kinds)
    ]
    for name in (
        "Makefile",
        "Dockerfile",
        "README.md",
        "mkdocs.yml",
        ".ci/run",
        "requirements.txt",
        "requirements-dev.txt",
    ):
        assert not re.findall(folders, (ROOT / name).read_text(encoding="utf-8"))


def test_a_file_of_tests_runs_on_one_worker() -> None:
    """Browser tests of a file share a session, each finding what those before it left: their order is the file's."""
    commands = [
        line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if "--numprocesses" in line
    ]
    assert len(commands) == 3
    assert all("--dist loadfile" in command for command in commands)


def test_the_lock_file_of_the_checks_names_no_registry() -> None:
    assert '"resolved"' not in (ROOT / "package-lock.json").read_text(encoding="utf-8")


def test_the_types_of_every_script_are_checked() -> None:
    """A folder's tsconfig.json says what its scripts are put together with."""
    folders = {path.parent for path in (ROOT / "app").rglob("*.js")}
    assert folders
    assert not [str(folder) for folder in folders if not list(folder.glob("tsconfig*.json"))]
