"""The sets that ship: every row can be used, and the models do them as well as the manual's table says."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from headlight.model import HeadlightError, load
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.performance import performance
from headlight.model.prompt_sets.shipped import N_ROWS, ShippedSet, shipped_set, shipped_sets
from tests.places import DOCS

PAGE = DOCS / "reference" / "prompt-sets.md"
BEGIN, END = "<!-- sets: python -m tests.generate sets -->", "<!-- end of sets -->"
MODELS = ("mini", "mini-llama", "smollm2")
ONE_ROW = 100 / N_ROWS  # per cent: a logit difference near zero may have another sign on another machine


def accuracies(model_name: str, sets: Sequence[ShippedSet]) -> dict[str, float]:
    """The accuracy of a model on each set that makes sense for it, in per cent; each row has to be one it can take."""
    model = load(model_name)
    assert model.tokenizer is not None
    measured = {}
    for each in sets:
        if model_name in each.models:
            encoded = to_tokens(each.prompt_set(), model.tokenizer, cfg=model.cfg)
            assert not encoded.refused, (model_name, each.name)
            assert len(encoded.position_names) > 1
            assert encoded.is_one_length, (model_name, each.name, encoded.lengths)
            measured[each.name] = 100 * performance(model, encoded, each.metric).accuracy
    return measured


def markdown(models: Sequence[str]) -> str:
    """The manual's table."""
    columns = [accuracies(name, shipped_sets()) for name in models]
    lines = [f"| set | task | {' | '.join(models)} |", "|---|---|" + "---:|" * len(models)]
    for each in shipped_sets():
        cells = [f"{column[each.name]:.0f} %" if each.name in column else "–" for column in columns]
        lines.append(f"| `{each.name}` | {each.about} | {' | '.join(cells)} |")
    return "\n".join(lines)


def in_manual(model_name: str) -> dict[str, float]:
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    place = [cell.strip() for cell in table[0].split("|")].index(model_name)
    rows = [[cell.strip() for cell in line.split("|")] for line in table[2:]]
    return {row[1].strip("`"): float(row[place].removesuffix(" %")) for row in rows if row[place] != "–"}


def compare(model_name: str) -> None:
    assert accuracies(model_name, shipped_sets()) == pytest.approx(in_manual(model_name), abs=ONE_ROW + 0.5)


@pytest.mark.parametrize("model_name", MODELS[:2])
def test_the_embedded_models_do_them_as_the_manual_says(model_name: str) -> None:
    compare(model_name)
    assert min(in_manual(model_name).values()) >= 80


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.usefixtures("unchecked")
def test_smollm2_does_them_as_the_manual_says(real: Path) -> None:
    compare("smollm2")


def test_an_unknown_set_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(HeadlightError, match="Nearest: capitals"):
        shipped_set("capital")
