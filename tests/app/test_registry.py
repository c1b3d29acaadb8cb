"""The list of pages."""

from dataclasses import replace
from importlib import import_module

from headlight.app.parts import needs
from headlight.app.registry import VIEWS
from headlight.model import Transformer
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run


def test_every_page_has_a_place_of_its_own_in_the_url() -> None:
    slugs = [view.slug for view in VIEWS]
    assert len(set(slugs)) == len({view.title for view in VIEWS}) == len(VIEWS)
    assert all(slug.isidentifier() and slug.islower() for slug in slugs)
    assert not {name for view in VIEWS for name in view.formerly} & set(slugs)


def test_a_pages_folder_its_place_in_the_url_and_its_files_have_one_name() -> None:
    for view in VIEWS:
        assert view.render.__module__ == f"headlight.app.pages.{view.slug}.view"
        assert view.choices is None or view.choices.__module__ == f"headlight.app.pages.{view.slug}.choices"
    modules = [import_module(f"headlight.app.pages.{view.slug}") for view in VIEWS]
    exports = {module.EXPORT.name for module in modules if hasattr(module, "EXPORT")}
    assert exports < {view.slug for view in VIEWS}


def test_every_page_can_show_a_language_model(run: Run) -> None:
    assert not [view.needs(Comparison(run)) for view in VIEWS if view.needs(Comparison(run))]


def test_the_lens_says_what_a_model_without_words_lacks(run: Run) -> None:
    cfg = replace(run.cfg, d_vocab_out=2, tie_word_embeddings=False)
    classifier = Transformer(cfg)
    classifier.source = run.source
    assert "2 classes" in needs.language_model(Comparison(replace(run, model=classifier)))
