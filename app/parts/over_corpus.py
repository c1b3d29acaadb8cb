"""Compare a head on this prompt with the same head over a corpus, in one sentence with numbers."""

from headlight.app.runs import scans
from headlight.app.selection.chosen import Selection
from headlight.model.attention import fields
from headlight.model.base.errors import HeadlightError
from headlight.model.corpus.titles import WEIGHT, figure
from headlight.model.corpus.tree import Head, Tree
from headlight.model.runs.edits import head_name
from headlight.model.runs.run import Run

# The scores of a prompt that a scan has too, by its names.
SCORES = {
    "induction_score": "induction",
    "prev_token_score": "previous_token",
    "self_attention_score": "current_token",
    "duplicate_token_score": "duplicate_token",
    "first_token_score": "first_token",
    "pattern_entropy": "entropy",
    "qk_distance": "mean_distance",
}
METRICS = {score: metric for metric, score in SCORES.items()} | {"punctuation": "punctuation_score"}


def scan_of(run: Run, chosen: Selection) -> Tree | None:
    """The chosen scan, if it is of this run's model, or the first available one of it."""
    model = run.source.name
    try:
        if chosen.scan and scans.is_of(tree := scans.tree(chosen.scan), model):
            return tree
        name = scans.of_model(model)
        return scans.tree(name) if name else None
    except HeadlightError:  # the page of the scan says what is wrong with it
        return None


def beside(run: Run, head: Head, score: str, chosen: Selection, **elsewhere: float) -> str:
    """The same by a score's own name, from the scan of the run's model; nothing where there is none."""
    tree = scan_of(run, chosen) if score in METRICS else None
    return sentence(run, head, METRICS[score], tree, **elsewhere) if tree is not None else ""


def sentence(run: Run, head: Head, metric: str, tree: Tree, **elsewhere: float) -> str:
    """One figure of a head on this prompt, `elsewhere` and over the corpus; nothing where a side has none of it."""
    row = tree.rows.get(head)
    value = row and row.values.get(metric)
    on_prompt = float(fields.head_scores(run, SCORES[metric])[head]) if metric in SCORES else float("nan")
    numbers = {"on this prompt": on_prompt, **{name.replace("_", " "): number for name, number in elsewhere.items()}}
    known = {name: number for name, number in numbers.items() if number == number}
    if row is None or value is None or not known:
        return ""
    unit = "" if figure(metric).unit == WEIGHT else f" {figure(metric).unit}"
    low, high = row.intervals.get(metric, (None, None))
    interval = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    step = tree.provenance and tree.provenance.step
    corpus = "over the corpus" if step is None else f"over the corpus (at step {step:,})"
    parts = [*(f"{name} {number:.2f}{unit}" for name, number in known.items()), f"{corpus} {value:.2f}{unit}"]
    said = f"{figure(metric).title} of {head_name(head)}: {'; '.join(parts)}{interval}."
    return said.replace(" -", " −").replace("(-", "(−")
