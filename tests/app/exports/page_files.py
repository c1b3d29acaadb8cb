"""A page's files, read back: the cells of its picture, the arrays of its html, the columns of its tables."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from headlight.app.exports.export import Export
from headlight.app.exports.style import LIGHT
from headlight.app.selection import Selection
from headlight.model.nn.cache import ActivationCache
from headlight.model.runs.comparison import Comparison
from tests.unpacking import unpack


@dataclass(frozen=True, eq=False)
class Files:
    """What a page gives to be taken along, the run A that it is of, and all of that run's activations."""

    export: Export
    comparison: Comparison
    chosen: Selection
    logits: Tensor
    cache: ActivationCache

    @property
    def figure(self) -> Figure:
        return self.export.picture(self.comparison, self.chosen, LIGHT)

    @property
    def mounted(self) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """What the components of the html file are given."""
        (data,) = re.findall(rb'id="data">([^<]+)<', self.export.page(self.comparison, self.chosen))
        apart = np.frombuffer(gzip.decompress(base64.b64decode(data)), np.uint8)
        _, arrays = unpack(apart.reshape(4, -1).T.tobytes())
        return [(header["props"], own) for header, own in (unpack(each.tobytes()) for each in arrays.values())]

    @property
    def html_tables(self) -> dict[str, dict[str, list[Any]]]:
        """The columns of the html file's tables, by the tables' titles."""
        return {
            props["title"]: {
                column["name"]: json.loads(arrays[f"cells{place}"].tobytes())
                for place, column in enumerate(props["columns"])
            }
            for props, arrays in self.mounted
            if "cells0" in arrays
        }

    def table(self, name: str) -> dict[str, list[Any]]:
        return {
            heading: list(cells)
            for heading, cells in self.export.data(self.comparison, self.chosen).tables[name].items()
        }


def titled(figure: Figure, words: str) -> Axes:
    """The only panel whose title has these words."""
    (match,) = (axes for axes in figure.axes if words in " ".join(axes.get_title().split()))
    return match


def image(axes: Axes) -> np.ndarray:
    """The cells of a panel, NaN where there is none."""
    return np.ma.filled(axes.images[0].get_array().astype(float), np.nan)


def places(axes: Axes) -> dict[int, str]:
    return dict(
        zip(
            [round(at) for at in axes.get_xticks()], [label.get_text() for label in axes.get_xticklabels()], strict=True
        )
    )
