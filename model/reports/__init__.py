"""What each page shows, as tables: a function of a run, or of two side by side, that a script or a notebook calls."""

from headlight.model.reports.attention import attention_tables
from headlight.model.reports.circuits import circuit_tables
from headlight.model.reports.corpus import corpus_tables
from headlight.model.reports.edges import edge_tables
from headlight.model.reports.features import feature_tables
from headlight.model.reports.flow import flow_tables
from headlight.model.reports.generate import generate_tables
from headlight.model.reports.graph import graph_tables
from headlight.model.reports.heads import head_tables
from headlight.model.reports.inside import inside_tables
from headlight.model.reports.lens import lens_tables
from headlight.model.reports.mlp import mlp_tables
from headlight.model.reports.patching import patching_tables
from headlight.model.reports.prompts import prompt_tables
from headlight.model.reports.residual import residual_tables
from headlight.model.reports.tables import Table, Tables, print_tables
from headlight.model.reports.translate import translate_tables
from headlight.model.reports.why import why_feature_tables, why_tables

__all__ = [
    "Table",
    "Tables",
    "attention_tables",
    "circuit_tables",
    "corpus_tables",
    "edge_tables",
    "feature_tables",
    "flow_tables",
    "generate_tables",
    "graph_tables",
    "head_tables",
    "inside_tables",
    "lens_tables",
    "mlp_tables",
    "patching_tables",
    "print_tables",
    "prompt_tables",
    "residual_tables",
    "translate_tables",
    "why_feature_tables",
    "why_tables",
]
