"""Canvas components: they take arrays and return the user's choice.

Each folder is one component (python, js, css); `shared` holds what they have in common. Components of one `group` share
hover and pin in the browser, without a round trip to the server.

Lines, bars, scatters and histograms are Plotly's (`app.figures`), in one figure under a page's canvas. What is here has
what Plotly lacks: thousands of cells with linked hover (heads, the lens, maps of layers and tokens), and a cell or a
bar that is chosen by click and key and changes the page.

Where Streamlit or Plotly have a part for the same, it was put in the place of ours and the page measured (in November
2026 with Streamlit 1.67: medians in ms, ours → theirs, in turns on a busy machine, where those of a first load vary by
some 200; of several pages that which changes most). Ours stay for 100 ms of a page change or a first load, or for a
missing feature:

    part         lines   page change     first load   what the library's part lacks
    heading         50     362 → 407    1721 → 1564   shows -> in a token's name as an arrow, makes www.… a link;
                                                      calls each question mark “Help”, not by what it explains
    nav_bar        239     156 → 215    1233 → 1295   links that keep prompt and heads when opened elsewhere;
                                                      a live region that stays; theirs is made anew at each text
    tour           191                  1721 → 1694   frames the part that it speaks of, and lets it be used;
                                                      is shown once a browser
    options       1070     101 → 162    1263 → 1515   names beside the controls; a button for what has no room
    row_table      595    413 → 1009    4613 → 5383   nothing
    cell_map       494     288 → 715    2438 → 3422   a cell that is walked to, read aloud and chosen by key
    token_bars     970     756 → 922    2906 → 3072   a token put in another's place by key; linked heads
    signed_bars    266                   345 → 1582   in a page's file, which has 0.1 MB instead of 4.8
"""

from headlight.app.components.beam_tree import BeamNode, beam_tree
from headlight.app.components.cell_map import CellAxis, CellMap, MapCell, bars_once, cell_map, chosen_cell
from headlight.app.components.flow_graph import FlowChoice, FlowGraph, GraphEdge, GraphNode, flow_choice, flow_graph
from headlight.app.components.head_grid import HeadGrid, HeadRole, HeadScores, head_grid
from headlight.app.components.head_steps import (
    Followed,
    HeadStep,
    HeadSteps,
    StepKeys,
    StepMatrix,
    followed,
    head_steps,
)
from headlight.app.components.heading import heading
from headlight.app.components.heads import HeadPanel, HeadPanels, HeadPattern, Pin, TokenAxis, heads
from headlight.app.components.lens_grid import LensCells, LensColours, LensGrid, LensPin, lens_grid
from headlight.app.components.lesson_pane import lesson_pane
from headlight.app.components.nav_bar import nav_bar
from headlight.app.components.number_grid import NamedNumber, number_grid
from headlight.app.components.options import form_row, option_row
from headlight.app.components.options.kinds import (
    Button,
    Choice,
    Link,
    Listed,
    Number,
    Option,
    Several,
    Slider,
    Suggested,
    Switch,
    Text,
)
from headlight.app.components.row_table import Column, Table, row_table
from headlight.app.components.sampled_texts import SampledText, SampledTexts, sampled_texts
from headlight.app.components.shared.coding import encode_positive, encode_signed, encode_weights
from headlight.app.components.shared.fetchable import Fetchable
from headlight.app.components.token_bars import (
    Beside,
    StepClick,
    TokenBars,
    TokenChoice,
    WritingStep,
    clicked,
    token_bars,
)
from headlight.app.components.token_strip import TokenStrip, token_strip
from headlight.app.components.token_values import TokenValues, token_values
from headlight.app.components.tour import Step, tour
from headlight.app.components.turns import Turns, turns

__all__ = [
    "BeamNode",
    "Beside",
    "Button",
    "CellAxis",
    "CellMap",
    "Choice",
    "Column",
    "Fetchable",
    "FlowChoice",
    "FlowGraph",
    "Followed",
    "GraphEdge",
    "GraphNode",
    "HeadGrid",
    "HeadPanel",
    "HeadPanels",
    "HeadPattern",
    "HeadRole",
    "HeadScores",
    "HeadStep",
    "HeadSteps",
    "LensCells",
    "LensColours",
    "LensGrid",
    "LensPin",
    "Link",
    "Listed",
    "MapCell",
    "NamedNumber",
    "Number",
    "Option",
    "Pin",
    "SampledText",
    "SampledTexts",
    "Several",
    "Slider",
    "Step",
    "StepClick",
    "StepKeys",
    "StepMatrix",
    "Suggested",
    "Switch",
    "Table",
    "Text",
    "TokenAxis",
    "TokenBars",
    "TokenChoice",
    "TokenStrip",
    "TokenValues",
    "Turns",
    "WritingStep",
    "bars_once",
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
    "lesson_pane",
    "nav_bar",
    "number_grid",
    "option_row",
    "row_table",
    "sampled_texts",
    "token_bars",
    "token_strip",
    "token_values",
    "tour",
    "turns",
]
