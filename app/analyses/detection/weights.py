"""How much each head copies, kept."""

from headlight.app.runs import models, runs
from headlight.model.analysis import Measure
from headlight.model.roles.copying import copying as copies


def copying(model_name: str) -> Measure:
    """Every head's copying score from the weights alone; NaN where it writes another vocabulary than it reads."""
    return runs.keep(("copying", model_name), lambda: copies(models.open_model(model_name), runs.HOST))
