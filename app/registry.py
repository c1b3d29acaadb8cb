"""The pages, in the order of the navigation: a new page is one folder in `pages` and one line here."""

from headlight.app.pages import (
    attention,
    corpus,
    features,
    flow,
    generate,
    graph,
    heads,
    inside,
    lens,
    mlp,
    patching,
    prompts,
    residual,
    translate,
    weights,
    why,
)

VIEWS = (
    attention.VIEW,
    inside.VIEW,
    residual.VIEW,
    lens.VIEW,
    prompts.VIEW,
    why.VIEW,
    patching.VIEW,
    flow.VIEW,
    mlp.VIEW,
    features.VIEW,
    graph.VIEW,
    heads.VIEW,
    corpus.VIEW,
    weights.VIEW,
    generate.VIEW,
    translate.VIEW,
)
