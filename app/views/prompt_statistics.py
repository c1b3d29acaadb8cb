"""One statistic of every head over many prompts: mean and standard deviation, as maps and as a table."""

from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import streamlit as st
from jaxtyping import Float

from app import selection
from app.csv_files import Cell, csv_bytes
from app.glossary import TERMS
from app.run import Run
from app.runs import HeadStatistics
from app.selection.chosen import Head, Selection, Statistic
from app.views.parts import chart, heading
from app.views.scores import SCORES
from model.analysis.spread import Spread, spread


def head_name(head: Head) -> str:
    """What a head is called, layer and head counted from 0."""
    return f"L{head[0]}H{head[1]}"


def choose(run: Run, known: Sequence[HeadStatistics]) -> None:
    """The boxes that choose a statistic, and the head whose values the table of prompts lists."""
    heads = [(layer, head) for layer in range(run.cfg.n_layers) for head in range(run.cfg.n_heads)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Statistic",
            get_args(Statistic),
            format_func=lambda name: SCORES[name].title,
            help=TERMS[SCORES[selection.current().statistic].term],
            width=220,
            **selection.bind("statistic"),
        )
        st.selectbox(
            "Head listed in the table",
            heads,
            format_func=head_name,
            help=TERMS["head"],
            width=220,
            **selection.bind("statistic_head", default=strongest(run, known, selection.current().statistic)),
        )


def listed_head(run: Run, known: Sequence[HeadStatistics], chosen: Selection) -> Head:
    """The head whose values the table of prompts lists."""
    return chosen.statistic_head or strongest(run, known, chosen.statistic)


def strongest(run: Run, known: Sequence[HeadStatistics], name: Statistic) -> Head:
    """The head with the largest mean over the prompts; of run A where none has been run."""
    values = over(known, name).mean.values if known else run.scores[name].values
    return divmod(int(values.nan_to_num(-1.0).argmax()), run.cfg.n_heads)


def over(known: Sequence[HeadStatistics], name: str) -> Spread:
    """A statistic's mean and standard deviation over prompts."""
    return spread([each.scores[name] for each in known])


def draw(run: Run, known: Sequence[HeadStatistics]) -> None:
    """The maps of all heads and the table sorted by mean."""
    # Here, because Plotly takes a quarter of a second that other pages need not pay.
    from app.figures import prompts as figures

    found = over(known, selection.current().statistic)
    mean, sd = found.mean.values.numpy(), found.sd.values.numpy()
    count = found.count.numpy()
    title = SCORES[selection.current().statistic].title
    heading(f"{title} over {len(known):,} prompt{'' if len(known) == 1 else 's'}", "over_prompts")
    left, right = st.columns(2, gap="large")
    with left:
        st.caption(f"Mean ({found.mean.unit})")
        chart("statistic_mean", figures.head_map(mean, mean, sd, count))
    with right:
        st.caption(f"Standard deviation ({found.sd.unit})")
        if np.isnan(sd).all():
            st.caption("There is none before two prompts with such a token have been run.")
        else:
            chart("statistic_sd", figures.head_map(sd, mean, sd, count))
    _table(mean, sd, count)


def _table(
    mean: Float[np.ndarray, "layer head"], sd: Float[np.ndarray, "layer head"], count: Float[np.ndarray, "layer head"]
) -> None:
    order = np.argsort(-np.nan_to_num(mean, nan=-1.0), axis=None, kind="stable")
    n_heads = mean.shape[1]
    columns: dict[str, list[Cell]] = {
        "head": [head_name(divmod(int(place), n_heads)) for place in order],
        "mean": mean.ravel()[order].tolist(),
        "standard deviation": sd.ravel()[order].tolist(),
        "prompts": count.ravel()[order].tolist(),
    }
    numbers = ("mean", "standard deviation")
    st.dataframe(
        columns,
        column_config={name: st.column_config.NumberColumn(name, format="%.3f") for name in numbers},
        hide_index=True,
        placeholder="–",
        height=280,
        alt="Every head's mean and standard deviation over the prompts, the largest mean first",
    )
    download("Data: heads", "heads.csv", lambda: csv_bytes(columns))


def download(label: str, name: str, make: Callable[[], bytes]) -> None:
    """A button that makes a csv file when it is pressed."""
    key = selection.widget_key(f"download.{name}")
    st.download_button(label, make, file_name=name, mime="text/csv", on_click="ignore", key=key)
