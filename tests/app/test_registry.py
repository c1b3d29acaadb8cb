"""The list of pages."""

from dataclasses import replace

from app.registry import VIEWS
from app.run import Run
from app.shown import Shown
from app.views import lens
from model import Transformer


def test_every_page_has_a_place_of_its_own_in_the_url() -> None:
    slugs = [view.slug for view in VIEWS]
    assert len(set(slugs)) == len({view.title for view in VIEWS}) == len(VIEWS)
    assert all(slug.isidentifier() and slug.islower() for slug in slugs)


def test_every_page_can_show_a_language_model(run: Run) -> None:
    assert not [view.needs(Shown(run)) for view in VIEWS if view.needs(Shown(run))]


def test_the_lens_says_what_a_model_without_words_lacks(run: Run) -> None:
    cfg = replace(run.cfg, d_vocab_out=2, tie_word_embeddings=False)
    classifier = Transformer(cfg)
    classifier.source = run.source
    assert "2 classes" in lens.needs(Shown(replace(run, model=classifier)))
