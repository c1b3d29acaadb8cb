"""The training curves of the models' cards as svg, drawn by Plotly in a Chromium: `python -m tests.card_pictures`."""

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from plotly.offline import get_plotlyjs

from headlight.app.figures import Plot, figure, several
from headlight.model import embedded_models
from headlight.model.checkpoints.loading import embedded_seq2seq_models
from headlight.model.training.curves import read_curves
from tests.serving import chromium

PICTURE = "training.svg"
WIDTH = 800  # pixels
# Plotly names parts of a picture by chance: by these numbers the same figure gives the same file.
SAME = "let last = 1; Math.random = () => (last = (last * 16807) % 2147483647) / 2147483647;"
DRAWN = "([figure, size]) => Plotly.toImage(figure, { format: 'svg', ...size })"


def as_svg(rows: Sequence[Sequence[Plot]]) -> str:
    """A figure as Plotly's script draws it for light pages."""
    drawn = json.loads(str(figure(rows).to_json()))
    size = {"width": WIDTH, "height": drawn["layout"]["height"]}
    with chromium() as browser:
        page = browser.new_page()
        page.evaluate(SAME)
        page.add_script_tag(content=get_plotlyjs())
        url = str(page.evaluate(DRAWN, [drawn, size]))
    return unquote(url.partition(",")[2])


def folders() -> list[Path]:
    """Those of the models whose card shows the picture."""
    models = [*embedded_models().values(), *embedded_seq2seq_models().values()]
    return [each for each in models if f"({PICTURE})" in (each / "README.md").read_text(encoding="utf-8")]


def main() -> None:
    """Draw each."""
    for folder in folders():
        curves = read_curves(folder)
        assert curves
        rows = several.training(curves.steps, curves.by_unit, curves.harder)
        (folder / PICTURE).write_text(as_svg(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
