"""One statistic of every head over many prompts: its mean and deviation, and one head's value on each prompt."""

from collections.abc import Sequence

from headlight.model.attention.tables import SCORES
from headlight.model.measure.spread import Spread, spread
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.statistics import head_statistics
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.tables import Table, Tables, columns, number
from headlight.model.text.chat import Begin

HEADS = ("head", "mean", "standard deviation", "prompts")


def prompt_tables(
    model: Transformer, prompts: Sequence[str], head: Head, statistic: str = "induction", prepend_bos: Begin = True
) -> Tables:
    """Tabulate one statistic: a head's value on each prompt, and every head's mean and standard deviation.

    Args:
        model: the model.
        prompts: the prompts; duplicates count once in mean and deviation.
        head: (layer, head).
        statistic: name of the statistic.
        prepend_bos: how prompts begin.

    Raises:
        HeadlightError: the model has no tokenizer, or a prompt is empty or longer than its context.
    """
    statistics = {
        prompt: head_statistics(model, model.to_tokens(prompt, prepend_bos)[0].cpu())
        for prompt in dict.fromkeys(prompts)
    }
    rows = (
        (prompt, number(float(statistics[prompt].scores[statistic].values[head])), statistics[prompt].n_tokens)
        for prompt in prompts
    )
    return {
        "prompts": columns(["prompt", f"{head_name(head)} {SCORES[statistic]}", "tokens"], rows),
        "heads": heads_table(spread([each.scores[statistic] for each in statistics.values()])),
    }


def heads_table(over: Spread) -> Table:
    """Every head's mean and standard deviation, and over how many prompts they are."""
    n_heads = over.count.shape[1]
    values = (each.flatten().tolist() for each in (over.mean.values, over.sd.values, over.count))
    rows = (
        (head_name(divmod(place, n_heads)), number(mean), number(sd), count)
        for place, (mean, sd, count) in enumerate(zip(*values, strict=True))
    )
    return columns(HEADS, rows)
