"""Canvas components: arrays in, what the user chose out.

Each folder is one component (python, js, css); `shared` holds what they have in common. Components of one `group` share
hover and pin in the browser, without a round trip to the server.

Charts are components too, not Plotly's: Streamlit has Plotly draw every figure twice, and with five of them a page was
there after 0.4 s, for a zoom and a toolbar that were switched off.
"""

from app.components.announcer import announcer
from app.components.beam_tree import BeamNode, BeamState, beam_tree
from app.components.cell_map import CellAxis, cell_map
from app.components.flow_graph import FlowChoice, GraphEdge, GraphNode, flow_choice, flow_graph
from app.components.head_grid import HeadIndex, head_grid
from app.components.head_steps import Followed, HeadStep, StepKeys, StepMatrix, followed, head_steps
from app.components.heading import heading
from app.components.heads import HeadPanel, HeadPattern, Pin, TokenAxis, heads
from app.components.lens_grid import LensCells, LensColours, LensPin, lens_grid
from app.components.navigation import navigation
from app.components.options import (
    Button,
    Choice,
    Link,
    Listed,
    Number,
    Option,
    Slider,
    Suggested,
    Switch,
    Text,
    form_row,
    option_row,
)
from app.components.row_table import Column, row_table
from app.components.series_chart import Bars, Colour, Line, bar_chart, line_chart
from app.components.shared.coding import (
    encode_positive,
    encode_signed,
    encode_weights,
)
from app.components.shared.fetchable import Fetchable
from app.components.signed_bars import SignedBar, signed_bars
from app.components.signed_map import MapAxis, MapCell, chosen_cell, signed_map
from app.components.token_bars import Beside, StepClick, TokenChoice, WritingStep, clicked, token_bars
from app.components.token_strip import token_strip
from app.components.tour import Step, tour

__all__ = [
    "Bars",
    "BeamNode",
    "BeamState",
    "Beside",
    "Button",
    "CellAxis",
    "Choice",
    "Colour",
    "Column",
    "Fetchable",
    "FlowChoice",
    "Followed",
    "GraphEdge",
    "GraphNode",
    "HeadIndex",
    "HeadPanel",
    "HeadPattern",
    "HeadStep",
    "LensCells",
    "LensColours",
    "LensPin",
    "Line",
    "Link",
    "Listed",
    "MapAxis",
    "MapCell",
    "Number",
    "Option",
    "Pin",
    "SignedBar",
    "Slider",
    "Step",
    "StepClick",
    "StepKeys",
    "StepMatrix",
    "Suggested",
    "Switch",
    "Text",
    "TokenAxis",
    "TokenChoice",
    "WritingStep",
    "announcer",
    "bar_chart",
    "beam_tree",
    "cell_map",
    "chosen_cell",
    "clicked",
    "encode_positive",
    "encode_signed",
    "encode_weights",
    "flow_choice",
    "flow_graph",
    "followed",
    "form_row",
    "head_grid",
    "head_steps",
    "heading",
    "heads",
    "lens_grid",
    "line_chart",
    "navigation",
    "option_row",
    "row_table",
    "signed_bars",
    "signed_map",
    "token_bars",
    "token_strip",
    "tour",
]
