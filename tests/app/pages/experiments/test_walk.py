"""The manual's walk without a browser: twenty pairs of a csv, the heads that move the answer, the row that deviates."""

import csv
import io
import re
from itertools import islice, product

import numpy as np
import pytest
from scipy import stats
from streamlit.testing.v1 import AppTest

from headlight.app.components import CellMap, Table
from headlight.app.pages.experiments import cell, view
from headlight.model import Transformer, load
from tests.app.conftest import Options
from tests.places import MAIN

SECONDS = 400  # for one script run of 270 heads on a busy machine
NAMES = [("Mary", "John"), ("Tom", "Anna"), ("Kate", "David"), ("Peter", "Alice"), ("Sarah", "Paul")]
TEXT = "When {0} and {1} went to the {2}, {3} gave a book to"
PLACES = ("store", "park", "school", "office")
REAL = [pytest.mark.real, pytest.mark.thorough]


def pairs() -> list[tuple[str, str, str, str]]:
    """Twenty pairs of prompts, each with its right and its wrong name."""
    return [
        (TEXT.format(one, other, place, other), TEXT.format(one, other, place, one), one, other)
        for (one, other), place in islice(product(NAMES, PLACES), 20)
    ]


def written(model: Transformer) -> str:
    """The pairs as EAP-IG's csv, with the names as token ids."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["clean", "corrupted", "correct_idx", "incorrect_idx"])
    for clean, corrupted, right, wrong in pairs():
        writer.writerow([clean, corrupted, *(model.to_single_token(f" {name}") for name in (right, wrong))])
    return file.getvalue()


def effects(model: Transformer, layer: int, head: int) -> np.ndarray:
    """What a head adds to each row's logit difference at the final norm's scale, a prompt at a time."""
    weights = model.state_dict()
    values = []
    for clean, _, right, wrong in pairs():
        _, cache = model.run_with_cache(model.to_tokens(clean, prepend_bos=True))
        write = cache["z", layer][0, -1, head] @ weights[f"blocks.{layer}.attn.W_O"][head]
        if model.cfg.normalization_type == "LN":
            write = write - write.mean()
        normed = write / cache["ln_final.hook_scale"][0, -1] * weights["ln_final.w"]
        ids = [model.to_single_token(f" {name}") for name in (right, wrong)]
        values.append(float(normed @ (model.unembed.W_U[:, ids[0]] - model.unembed.W_U[:, ids[1]])))
    return np.array(values)


def opened(model: str, **query: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": "experiments", "model": model, "prompt": pairs()[0][0], **query}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


@pytest.mark.parametrize("name", ["mini", pytest.param("smollm2", marks=REAL)])
def test_twenty_pairs_lead_from_a_csv_to_the_row_that_deviates_most(
    name: str,
    settings: dict[str, object],
    options: Options,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if name == "smollm2":
        request.getfixturevalue("real")
    settings["model"] = name
    monkeypatch.setattr(view, "AT_ONCE", float("inf"))
    maps: list[CellMap] = []
    tables: list[Table] = []
    monkeypatch.setattr(view, "cell_map", lambda drawn, **_: maps.append(drawn))
    monkeypatch.setattr(cell, "row_table", lambda table, **_: tables.append(table))
    model = load(name)
    page = opened(name, exp_interval="t")
    page.file_uploader[0].set_value(("ioi.csv", written(model).encode(), "text/csv")).run()
    assert not page.exception
    assert page.query_params["prompt_set"] == "session:ioi.csv"
    (finding,) = (text.value for text in page.text if text.value.startswith("Over 20 rows "))
    layer, head = map(int, re.findall(r"L(\d+)H(\d+)", finding)[0])
    row, column = (layer, head) if maps[-1].rows.name == "layer" else (head, layer)
    values = effects(model, layer, head)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert maps[-1].values[row, column] == pytest.approx(values.mean(), abs=1e-4)  # float32, in other batches
    for end, bound in (("95% from", interval.low), ("95% to", interval.high)):
        assert maps[-1].details[end][row, column] == pytest.approx(bound, abs=1e-4)
    numbers = list(tables[-1].columns[0].cells)
    assert numbers[0] == int(np.abs(values - values.mean()).argmax()) + 1
    options.change(page, "why", None)
    clean, corrupted, right, wrong = pairs()[numbers[0] - 1]
    wanted = {"page": "why", "prompt": clean, "prompt_b": corrupted, "heads": f"{layer}.{head}"}
    wanted |= {"target": f" {right}", "distractor": f" {wrong}"}
    assert {name: page.query_params[name] for name in wanted} == wanted
    assert not page.exception
