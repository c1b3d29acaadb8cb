"""Headlight's library: a transformer whose every activation can be read, edited and explained.

What is named here is promised to stay; everything else may move. It is imported when it is first used: what needs no
model, such as `--help`, waits for no torch.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from headlight.model.former_names import FormerNames

if TYPE_CHECKING:
    from headlight.model.attention.inside_tables import inside_tables
    from headlight.model.attention.residual_tables import residual_tables
    from headlight.model.attention.tables import attention_tables
    from headlight.model.attribution.explanation import CellQuestion
    from headlight.model.attribution.tables import why_tables
    from headlight.model.base.allocator import return_freed_memory, reuse_freed_memory
    from headlight.model.base.errors import HeadlightError
    from headlight.model.base.source import Source
    from headlight.model.checkpoints.families.headlight import save_transformer
    from headlight.model.checkpoints.families.seq2seq import save_seq2seq
    from headlight.model.checkpoints.gpt2_export import save_gpt2
    from headlight.model.checkpoints.loading import embedded_models, embedded_seq2seq_models, load, load_seq2seq
    from headlight.model.circuits.files import read_circuit
    from headlight.model.circuits.settings import CircuitSettings
    from headlight.model.circuits.study import circuit_study_tables, study_circuit
    from headlight.model.circuits.tables import edge_tables
    from headlight.model.corpus.reading import read_tree
    from headlight.model.corpus.tables import corpus_tables
    from headlight.model.decoding.explained_sides import TranslationQuestion
    from headlight.model.decoding.explained_tables import translate_why_tables
    from headlight.model.decoding.generate_tables import generate_tables
    from headlight.model.decoding.translate_tables import translate_tables
    from headlight.model.decoding.translation import translate
    from headlight.model.decoding.translations import Translations, compare_translations
    from headlight.model.directions.files import open_direction, save_direction
    from headlight.model.directions.finding import find_directions
    from headlight.model.directions.study import DirectionSettings
    from headlight.model.directions.tables import direction_tables, reading_tables
    from headlight.model.experiments.running import run_experiment
    from headlight.model.experiments.settings import ExperimentSettings
    from headlight.model.experiments.tables import experiment_tables
    from headlight.model.features.cell_tables import why_feature_tables
    from headlight.model.features.opening import open_dictionary
    from headlight.model.features.tables import FeatureOrder, feature_tables
    from headlight.model.flow.tables import flow_tables
    from headlight.model.graph.building import Aim
    from headlight.model.graph.tables import GraphSettings, graph_tables
    from headlight.model.lens.patchscope import Scope
    from headlight.model.lens.tables import lens_tables
    from headlight.model.neurons.tables import NeuronQuestion, mlp_tables
    from headlight.model.nn.cache import ActivationCache
    from headlight.model.nn.config import TransformerConfig
    from headlight.model.nn.seq2seq import Seq2SeqTransformer
    from headlight.model.nn.seq2seq_config import Seq2SeqConfig
    from headlight.model.nn.transformer import Transformer
    from headlight.model.patching.cells import Parts
    from headlight.model.patching.sides import LogitDifference
    from headlight.model.patching.tables import patching_tables
    from headlight.model.prompt_sets.columns import ColumnMatching
    from headlight.model.prompt_sets.encoding import TokenSet
    from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
    from headlight.model.prompt_sets.reading import read_prompt_set
    from headlight.model.prompt_sets.shipped import shipped_set
    from headlight.model.prompt_sets.templates import PromptTemplate, from_templates
    from headlight.model.roles.prompt_tables import prompt_tables
    from headlight.model.roles.tables import head_tables
    from headlight.model.runs.comparison import Comparison, compare
    from headlight.model.runs.direction import Direction
    from headlight.model.runs.edits.kinds import (
        AblateHeads,
        AblateNeurons,
        ClampNeurons,
        CutEdge,
        Drop,
        EditDirection,
        EditFeature,
        FreezePatterns,
        Patch,
        Steer,
    )
    from headlight.model.runs.run import Run, run_prompt
    from headlight.model.runs.tables import Table, Tables, print_tables
    from headlight.model.text.conversation import Conversation
    from headlight.model.text.tokenizer import Tokenizer
    from headlight.model.weights.tables import circuit_tables

_NAMES = {
    "attention.inside_tables": ("inside_tables",),
    "attention.residual_tables": ("residual_tables",),
    "attention.tables": ("attention_tables",),
    "attribution.explanation": ("CellQuestion",),
    "attribution.tables": ("why_tables",),
    "base.allocator": (
        "return_freed_memory",
        "reuse_freed_memory",
    ),
    "base.errors": ("HeadlightError",),
    "base.source": ("Source",),
    "checkpoints.families.headlight": ("save_transformer",),
    "checkpoints.families.seq2seq": ("save_seq2seq",),
    "checkpoints.gpt2_export": ("save_gpt2",),
    "checkpoints.loading": (
        "embedded_models",
        "embedded_seq2seq_models",
        "load",
        "load_seq2seq",
    ),
    "circuits.files": ("read_circuit",),
    "circuits.settings": ("CircuitSettings",),
    "circuits.study": (
        "circuit_study_tables",
        "study_circuit",
    ),
    "circuits.tables": ("edge_tables",),
    "corpus.reading": ("read_tree",),
    "corpus.tables": ("corpus_tables",),
    "decoding.explained_sides": ("TranslationQuestion",),
    "decoding.explained_tables": ("translate_why_tables",),
    "decoding.generate_tables": ("generate_tables",),
    "decoding.translate_tables": ("translate_tables",),
    "decoding.translation": ("translate",),
    "decoding.translations": (
        "Translations",
        "compare_translations",
    ),
    "directions.files": (
        "open_direction",
        "save_direction",
    ),
    "directions.finding": ("find_directions",),
    "directions.study": ("DirectionSettings",),
    "directions.tables": (
        "direction_tables",
        "reading_tables",
    ),
    "experiments.running": ("run_experiment",),
    "experiments.settings": ("ExperimentSettings",),
    "experiments.tables": ("experiment_tables",),
    "features.cell_tables": ("why_feature_tables",),
    "features.opening": ("open_dictionary",),
    "features.tables": (
        "FeatureOrder",
        "feature_tables",
    ),
    "flow.tables": ("flow_tables",),
    "graph.building": ("Aim",),
    "graph.tables": (
        "GraphSettings",
        "graph_tables",
    ),
    "lens.patchscope": ("Scope",),
    "lens.tables": ("lens_tables",),
    "neurons.tables": (
        "NeuronQuestion",
        "mlp_tables",
    ),
    "nn.cache": ("ActivationCache",),
    "nn.config": ("TransformerConfig",),
    "nn.seq2seq": ("Seq2SeqTransformer",),
    "nn.seq2seq_config": ("Seq2SeqConfig",),
    "nn.transformer": ("Transformer",),
    "patching.cells": ("Parts",),
    "patching.sides": ("LogitDifference",),
    "patching.tables": ("patching_tables",),
    "prompt_sets.columns": ("ColumnMatching",),
    "prompt_sets.encoding": ("TokenSet",),
    "prompt_sets.prompt_set": (
        "PromptPair",
        "PromptSet",
    ),
    "prompt_sets.reading": ("read_prompt_set",),
    "prompt_sets.shipped": ("shipped_set",),
    "prompt_sets.templates": (
        "PromptTemplate",
        "from_templates",
    ),
    "roles.prompt_tables": ("prompt_tables",),
    "roles.tables": ("head_tables",),
    "runs.comparison": (
        "Comparison",
        "compare",
    ),
    "runs.direction": ("Direction",),
    "runs.edits.kinds": (
        "AblateHeads",
        "AblateNeurons",
        "ClampNeurons",
        "CutEdge",
        "Drop",
        "EditDirection",
        "EditFeature",
        "FreezePatterns",
        "Patch",
        "Steer",
    ),
    "runs.run": (
        "Run",
        "run_prompt",
    ),
    "runs.tables": (
        "Table",
        "Tables",
        "print_tables",
    ),
    "text.conversation": ("Conversation",),
    "text.tokenizer": ("Tokenizer",),
    "weights.tables": ("circuit_tables",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
sys.meta_path.insert(0, FormerNames())  # before a folder that was left of the former modules is taken for one


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


__all__ = [
    "AblateHeads",
    "AblateNeurons",
    "ActivationCache",
    "Aim",
    "CellQuestion",
    "CircuitSettings",
    "ClampNeurons",
    "ColumnMatching",
    "Comparison",
    "Conversation",
    "CutEdge",
    "Direction",
    "DirectionSettings",
    "Drop",
    "EditDirection",
    "EditFeature",
    "ExperimentSettings",
    "FeatureOrder",
    "FreezePatterns",
    "GraphSettings",
    "HeadlightError",
    "LogitDifference",
    "NeuronQuestion",
    "Parts",
    "Patch",
    "PromptPair",
    "PromptSet",
    "PromptTemplate",
    "Run",
    "Scope",
    "Seq2SeqConfig",
    "Seq2SeqTransformer",
    "Source",
    "Steer",
    "Table",
    "Tables",
    "TokenSet",
    "Tokenizer",
    "Transformer",
    "TransformerConfig",
    "TranslationQuestion",
    "Translations",
    "attention_tables",
    "circuit_study_tables",
    "circuit_tables",
    "compare",
    "compare_translations",
    "corpus_tables",
    "direction_tables",
    "edge_tables",
    "embedded_models",
    "embedded_seq2seq_models",
    "experiment_tables",
    "feature_tables",
    "find_directions",
    "flow_tables",
    "from_templates",
    "generate_tables",
    "graph_tables",
    "head_tables",
    "inside_tables",
    "lens_tables",
    "load",
    "load_seq2seq",
    "mlp_tables",
    "open_dictionary",
    "open_direction",
    "patching_tables",
    "print_tables",
    "prompt_tables",
    "read_circuit",
    "read_prompt_set",
    "read_tree",
    "reading_tables",
    "residual_tables",
    "return_freed_memory",
    "reuse_freed_memory",
    "run_experiment",
    "run_prompt",
    "save_direction",
    "save_gpt2",
    "save_seq2seq",
    "save_transformer",
    "shipped_set",
    "study_circuit",
    "translate",
    "translate_tables",
    "translate_why_tables",
    "why_feature_tables",
    "why_tables",
]
