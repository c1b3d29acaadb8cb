"""What the lens's heading says, and which words its table has, for answers that come early, late and at the end."""

import pytest

from headlight.app.pages.lens.finding import sentence

LAYERS = ["embed", "L0", "L1", "L2"]


@pytest.mark.parametrize(
    ("settled", "said"),
    [
        (0, "“key” is the best guess from the embedding on."),
        (2, "“key” is the best guess from L1 on."),
        (3, "“key” becomes the best guess only in the last layer, L2."),
    ],
)
def test_the_heading_names_the_layer_from_which_the_answer_stays(settled: int, said: str) -> None:
    assert sentence("␣key", LAYERS, settled).replace("\u2068", "").replace("\u2069", "") == said
