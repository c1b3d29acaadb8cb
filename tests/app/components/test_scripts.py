"""The scripts' own arithmetic in a browser without Streamlit, against the Python side of the same formats."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from app import components
from app.components import decode_weights, encode_weights
from app.components.shared.packing import pack

SHARED = Path(components.__file__).parent / "shared"
LIGHT, DARK = [255, 255, 255], [14, 17, 23]


@pytest.fixture(scope="module")
def scripts(browser: Browser) -> Iterator[Page]:
    """An empty page with the shared scripts as its globals."""
    page = browser.new_page()
    page.add_script_tag(content="\n".join(path.read_text(encoding="utf-8") for path in sorted(SHARED.glob("*.js"))))
    yield page
    page.close()


def test_the_browser_reads_what_python_packs(scripts: Page) -> None:
    """Sizes that leave the second and third array off their alignment."""
    arrays = {
        "codes": np.arange(5, dtype=np.uint8),
        "weights": np.array([[1, 65535]], np.uint16),
        "measure": np.array([-0.5, 1e-7], np.float32),
        "top": np.array([[[-3]]], np.int32),
    }
    data = pack({"labels": ["·the", "\ud800"], "key": "k"}, arrays)
    script = """text => {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const { header, start } = unpackHeader(bytes);
      const arrays = unpackArrays(bytes, header, start);
      return [header, Object.entries(arrays).map(([name, { values, shape }]) => [name, Array.from(values), shape])];
    }"""
    header, unpacked = scripts.evaluate(script, base64.b64encode(data).decode())
    assert header["key"] == "k"
    assert header["labels"][0] == "·the"
    for (name, values, shape), (packed_name, array) in zip(unpacked, arrays.items(), strict=True):
        assert (name, tuple(shape)) == (packed_name, array.shape)
        np.testing.assert_array_equal(np.array(values, array.dtype), array.ravel())


def test_the_browser_decodes_weights_as_python_does(scripts: Page) -> None:
    codes = np.array([[0, 1, 2, 3, 30000, 65534, 65535]], np.uint16)
    decoded = scripts.evaluate("codes => codes.map(weightOf)", codes[0].tolist())
    np.testing.assert_allclose(decoded, decode_weights(codes)[0], rtol=1e-6)  # Python rounds to float32


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_colour_map_starts_at_the_background_and_takes_even_steps(scripts: Page, background: list[int]) -> None:
    """Eight colours at a time: one step is about 0.005 in OKLab, and rounding to bytes moves a colour by 0.003."""
    script = "background => [colourMap(background), colourMap(background).map(oklabFromRgb)]"
    colours, lab = scripts.evaluate(script, background)
    assert colours[0] == background
    changes = np.diff(np.array(lab)[::8], axis=0)
    assert (np.sign(changes[:, 0]) == (-1 if background == LIGHT else 1)).all()
    steps = np.linalg.norm(changes, axis=1)
    assert steps.max() / steps.min() < 1.5


def painted(scripts: Page, codes: np.ndarray, size: int) -> np.ndarray:
    """The codes drawn `size` pixels wide: white where masked, else the code as grey."""
    script = """([codes, rows, columns, size]) => {
      const colours = Array.from({ length: 256 }, (_, code) => packedColour([code, code, code]));
      const canvas = new OffscreenCanvas(size, size);
      const context = canvas.getContext("2d");
      paintMatrix(context, { codes, rows, columns, colours, hatch: [packedColour([255, 255, 255])] }, 0, 0, size, size);
      return Array.from(context.getImageData(0, 0, size, size).data).filter((_, index) => index % 4 === 0);
    }"""
    arguments: list[Any] = [codes.ravel().tolist(), *codes.shape, size]
    return np.array(scripts.evaluate(script, arguments)).reshape(size, size)


def test_a_thin_diagonal_survives_being_drawn_smaller(scripts: Page) -> None:
    """300 cells on 90 pixels: sampling would lose two cells of three, and with them most of the line."""
    codes = np.where(np.eye(300, k=-1, dtype=bool), 200, 1)
    picture = painted(scripts, codes, 90)
    assert ((picture == 200).sum(1) >= 1).all()
    assert (picture == 200).sum() < 2 * 90


def test_each_cell_is_drawn_once_and_in_its_place(scripts: Page) -> None:
    codes = np.arange(1, 26).reshape(5, 5)
    np.testing.assert_array_equal(painted(scripts, codes, 35), np.kron(codes, np.ones((7, 7), int)))
    np.testing.assert_array_equal(painted(scripts, codes, 5), codes)


def test_masked_cells_are_hatched_unless_a_weight_shares_their_pixel(scripts: Page) -> None:
    codes = np.array([[9, 0, 0, 0], [9, 9, 0, 0], [9, 9, 9, 0], [9, 9, 9, 9]])
    np.testing.assert_array_equal(painted(scripts, codes, 8), np.kron(np.where(codes, 9, 255), np.ones((2, 2), int)))
    assert painted(scripts, codes, 2).tolist() == [[9, 255], [9, 9]]


def test_ranks_count_larger_weights_of_the_row_and_leave_masked_keys_out(scripts: Page) -> None:
    pattern = np.array([[0.2, 0.5, 0.2, 0.1, 0.0]])
    masked = np.array([[False, False, False, False, True]])
    codes = encode_weights(pattern, masked)
    script = """codes => {
      const pattern = new Pattern({ values: Uint16Array.from(codes), shape: [1, 5] }, { values: [0] });
      return [0, 1, 2, 3].map((key) => pattern.rankText(0, key));
    }"""
    assert scripts.evaluate(script, codes[0].tolist()) == ["2 of 4", "1 of 4", "2 of 4", "4 of 4"]
