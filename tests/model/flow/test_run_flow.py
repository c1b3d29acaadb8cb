"""Runs of which there is no information flow."""

from pathlib import Path

import pytest

from headlight.model import run_prompt
from headlight.model.base.errors import InputError
from headlight.model.flow.run_flow import flow_of
from tests.tiny import open_tiny


def test_a_convolution_s_ways_are_not_followed(tmp_path: Path) -> None:
    run = run_prompt(open_tiny("deberta-like", tmp_path), "one two three")
    with pytest.raises(InputError, match="ends in a convolution over neighbouring tokens"):
        flow_of(run, 2, 0.01)
