"""The list of pages."""

from dataclasses import replace

from app.registry import VIEWS
from app.runs import Run
from app.views import lens
from model import TransformerConfig


def test_every_page_has_a_place_of_its_own_in_the_url() -> None:
    slugs = [view.slug for view in VIEWS]
    assert len(set(slugs)) == len({view.title for view in VIEWS}) == len(VIEWS)
    assert all(slug.isidentifier() and slug.islower() for slug in slugs)


def test_every_page_can_show_a_language_model(run: Run) -> None:
    assert not [view.needs(run) for view in VIEWS if view.needs(run)]


def test_the_lens_says_what_a_model_without_words_lacks(run: Run) -> None:
    class Classifier:
        cfg: TransformerConfig = replace(run.cfg, d_vocab_out=2, tie_word_embeddings=False)

    assert "2 classes" in lens.needs(Classifier())  # type: ignore[arg-type]
