"""The plots of the page *Prompts*: the listed head's statistic over the prompts, and that of every head."""

from collections.abc import Sequence

import torch

from headlight.app.figures import several
from headlight.app.pages.prompts.choices import Statistic
from headlight.app.parts.charts import Rows
from headlight.app.parts.scores import SCORES
from headlight.model.analysis.spread import spread
from headlight.model.edits import Head, head_name
from headlight.model.explain.statistics import HeadStatistics


def rows(known: Sequence[HeadStatistics], head: Head, statistic: Statistic) -> Rows:
    """How many prompts have which value, and every head's mean with one standard deviation."""
    measures = [each.scores[statistic] for each in known]
    over, own = spread(measures), torch.stack([measure.values[head] for measure in measures])
    mean, sd = over.mean.values.numpy(), over.sd.values.numpy()
    title, unit = SCORES[statistic].title, over.mean.unit
    return [several.prompts(own.numpy(), mean, sd, head=head_name(head), title=title, unit=unit)]
