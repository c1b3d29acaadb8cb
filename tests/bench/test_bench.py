"""The benchmark's own arithmetic, and that it still runs: on a tiny shape, once, without the second environment."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.bench import __main__ as command
from tests.bench import forward, generation, growth, lens, llama, long, patching, plots, report, table
from tests.bench.bench import GPT2, Bench, Setting
from tests.bench.figures import Figure, Goal, ratio
from tests.bench.memory import exponent
from tests.bench.notes import NOTES
from tests.bench.timing import Cost
from tests.bench.workers import Worker

TINY = {"n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": 64, "vocab_size": 512}
SETTING = Setting(TINY, lengths=(16, 32), n_new=4, rounds=1, threads=1, peers=("hugging_face",))
PARTS = (forward, lens, generation, patching, growth)
LLAMA = llama.LLAMA | {"num_hidden_layers": 2, "hidden_size": 48, "intermediate_size": 64, "vocab_size": 512}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(SETTING, tmp_path_factory.mktemp("bench"))
    yield made
    made.close()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory a process had at most")
def test_every_part_gives_figures_and_they_are_written_and_drawn(bench: Bench, tmp_path: Path) -> None:
    figures = [figure for part in PARTS for figure in part.measure(bench)]
    figures += llama.measure(bench, LLAMA, lengths=(16,))
    assert {figure.part for figure in figures} == {"forward", "lens", "generation", "patching", "growth", "llama"}
    assert all(figure.value > 0 for figure in figures if figure.unit == "×")
    written, page = tmp_path / "bench.json", tmp_path / "benchmarks.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    report.write(bench, figures, written)
    plots.main(written, page)
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        f"{name}-{theme}.svg" for name in ("forward", "growth") for theme in ("light", "dark")
    }
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    with_goal = [figure for figure in json.loads(written.read_text())["figures"] if figure["goal"]]
    assert text.count("\n| ") == 1 + len(with_goal)  # the header is one more


def test_a_ratio_is_that_of_each_round() -> None:
    slow, fast = [Cost(4.0, 8.0), Cost(9.0, 6.0), Cost(2.0, 2.0)], [Cost(2.0, 2.0), Cost(3.0, 3.0), Cost(2.0, 1.0)]
    figure = ratio("part", "what", slow, fast, Goal(2.5))
    assert figure.values == (2.0, 3.0, 1.0)
    assert (figure.value, figure.by_processor, figure.met) == (2.0, 2.0, True)
    assert not Figure("part", "what", (2.0,), goal=Goal(2.5, at_least=True)).met


def test_the_exponent_of_a_power_is_that_power() -> None:
    assert exponent([1, 2, 4, 8], [3, 12, 48, 192]) == pytest.approx(2)


def test_the_floor_counts_the_operations_of_gpt2() -> None:
    """Layers 170 M for each token, unembedding 77 M, attention 36.9 k for each pair of tokens."""
    assert forward.attention_share(GPT2, n_tokens=1024) == pytest.approx(
        36.9e3 * 1024**2 / ((170e6 + 77e6) * 1024), rel=0.01
    )


def test_a_failed_task_says_why(tmp_path: Path) -> None:
    worker = Worker("floor", "cpu", 1, tmp_path / "log")
    with pytest.raises(RuntimeError, match=r"load failed:(.|\n)*config.json"):
        worker.do("load", folder=str(tmp_path))
    worker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory a process had at most")
def test_long_prompts_are_measured_on_a_tiny_shape(tmp_path: Path) -> None:
    with torch.inference_mode():
        figures = list(long.measure(long.Sides(tmp_path, long.SHAPES["tiny"], "cpu"), n_tokens=300, rounds=1))
    assert [figure.unit for figure in figures] == ["ms", "×", "×", "×", "MB"]
    assert all(figure.value > 0 for figure in figures[:-1])


@pytest.mark.skipif(not report.REPORT.exists(), reason="make bench was not run")
def test_the_manual_shows_what_the_benchmark_found() -> None:
    results = json.loads(report.REPORT.read_text())
    assert table.markdown(results) in table.BENCHMARKS.read_text()
    assert NOTES.keys() <= {figure["name"] for figure in results["figures"]}


def test_every_name_is_a_benchmark_and_another_is_refused_with_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    files = {path.stem for path in Path(command.__file__).parent.glob("*.py") if '"__main__"' in path.read_text()}
    assert set(command.NAMES) == files - {"__main__", "test_bench", "worker"}
    assert command.main(["nothing"]) == 2
    said = capsys.readouterr().out
    assert all(name in said for name in ("There is no benchmark nothing", *command.NAMES))
