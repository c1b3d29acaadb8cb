"""What the page of an encoder-decoder is told: held against the library and against sums that must agree."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headlight.app.pages.translate.choices import Choices, within
from headlight.app.runs import models, runs, translations
from headlight.app.selection import Selection, from_query, to_query
from headlight.model import Seq2SeqTransformer, load_seq2seq
from headlight.model.base.errors import ConfigError, HeadlightError, InputError, ModelNotFoundError
from headlight.model.decoding import greedy
from headlight.model.decoding.translation import Translation

SOURCE = "ba ko li su fe"


@pytest.fixture
def chosen(translator: str) -> Selection:
    return Selection(translator=translator, source=SOURCE)


@pytest.fixture(scope="session")
def model(translator: str) -> Seq2SeqTransformer:
    return load_seq2seq(translator)


def test_one_beam_is_greedy_and_the_attention_is_that_of_one_forward_pass(
    chosen: Selection, model: Seq2SeqTransformer
) -> None:
    translation = translations.of_one(replace(chosen, beams=1))
    source = model.to_source_tokens(SOURCE)
    (written,) = greedy(model, source, max_new_tokens=model.cfg.n_ctx - 1)
    assert torch.equal(translation.written, written.tokens)
    # The same products over a whole target instead of a token at a time: float32's rounding of sums of size 10.
    torch.testing.assert_close(translation.log_probs, written.log_probs, rtol=0, atol=2e-5)
    read = torch.cat([torch.tensor([model.cfg.start_token]), written.tokens[:-1]])[None]
    _, cache = model.run_with_cache(source, read)
    for layer in range(2):
        expected = cache[f"decoder.blocks.{layer}.cross_attn.hook_pattern"][0]
        assert torch.equal(translation.attention["cross"].pattern[layer], expected)
    result = cache["decoder.blocks.1.cross_attn.hook_v"][0, :, 3] @ model.decoder.blocks[1].cross_attn.W_O[3]
    torch.testing.assert_close(translation.attention["cross"].write_norms[1, 3], result.norm(dim=-1))


def test_shapes_and_names_fit_each_other(chosen: Selection) -> None:
    translation = translations.of_one(chosen)
    n_source, n_target = len(translation.source_labels), len(translation.written_labels)
    assert translation.source_labels == (*SOURCE.split(), "</s>")
    assert translation.read_labels == ("<s>", *translation.written_labels[:-1])
    shapes = {"cross": (n_target, n_source), "decoder": (n_target, n_target), "encoder": (n_source, n_source)}
    for attends, shape in shapes.items():
        attended = translation.attention[attends]  # type: ignore[index]
        assert tuple(attended.pattern.shape[-2:]) == shape
        torch.testing.assert_close(attended.pattern.sum(-1), torch.ones(attended.pattern.shape[:-1]))
    assert torch.equal(translation.attention["decoder"].masked, torch.ones(n_target, n_target).triu(1).bool())
    assert len(translation.attention["encoder"].pattern) == 1


def test_a_branch_is_the_path_to_its_token(chosen: Selection) -> None:
    best = translations.of_one(chosen)
    assert best.search is not None
    assert best.leaf == best.search.best[0].leaf
    place = next(place for place, each in enumerate(best.search.tree) if each.fate == "dropped" and each.n_tokens == 2)
    branch = translations.of_one(replace(chosen, branch=place))
    node = best.search.tree[place]
    assert branch.search is best.search
    assert branch.written.tolist() == [best.search.tree[node.parent].token, node.token]
    # A batch of beams, fed a token at a time, against one pass: float32's rounding of sums of size 10.
    assert float(branch.log_probs.sum()) == pytest.approx(node.total, abs=5e-5)
    beyond = translations.of_one(replace(chosen, branch=10**6))
    assert beyond.leaf == best.leaf


def test_a_target_of_ones_own_is_read_as_it_is(chosen: Selection, model: Seq2SeqTransformer) -> None:
    translation = translations.of_one(replace(chosen, translation="ko ba"))
    assert translation.search is None
    assert translation.written_labels == ("ko", "ba", "</s>")
    assert translation.text == "ko ba"
    target = torch.tensor([[model.cfg.start_token, *translation.written[:-1].tolist()]])
    logits = model(model.to_source_tokens(SOURCE), target)[0]
    expected = -torch.nn.functional.cross_entropy(logits, translation.written, reduction="none")
    torch.testing.assert_close(translation.log_probs, expected)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"source": ""}, InputError, "The source is empty"),
        ({"source": " \n"}, InputError, "source is 2 spaces"),
        ({"source": "ba xyz"}, InputError, r"does not know 'xyz'.* “About this model” lists all"),
        ({"source": "<s> ba"}, InputError, "does not know '<s>'"),
        ({"translation": "ba </s> ba"}, InputError, "does not know '</s>'"),
        ({"source": "ba " * 30}, InputError, r"source has 31 tokens.* holds 18"),
        ({"translation": "ba " * 30}, InputError, r"target has 31 tokens.* holds 18"),
        ({"translation": "ba <b>x</b>"}, InputError, "does not know '<b>x</b>'"),
        ({"translation": "  "}, InputError, "nothing but spaces"),
        ({"beams": 0}, ConfigError, "Beams: 0. Choose 1"),
        ({"beams": 17}, ConfigError, "to 16"),
        ({"translator": "nowhere"}, ModelNotFoundError, "no folder or encoder-decoder 'nowhere'"),
        ({"translator": "mini"}, HeadlightError, "mini"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(
    chosen: Selection, changes: dict[str, object], error: type[HeadlightError], message: str
) -> None:
    with pytest.raises(error, match=message):
        translations.of_one(replace(chosen, **changes))


def test_a_server_for_others_opens_what_it_offers_alone(settings: dict[str, object], translator: str) -> None:
    settings["any_model"] = False
    with pytest.raises(ModelNotFoundError, match=r"is not offered here\. Choose one of reverse"):
        models.open_seq2seq(translator)


def test_the_models_folder_offers_each_kind_where_it_belongs(settings: dict[str, object], translator: str) -> None:
    settings["models_folder"] = str(Path(translator).parent)
    assert "random-translator" in models.offered_seq2seq_models()
    assert "random-translator" not in models.offered_models()
    assert models.open_seq2seq("random-translator").source.name == "random-translator"


def test_a_link_holds_the_whole_page(chosen: Selection) -> None:
    full = chosen.updated(
        Choices,
        translation="ko <b>",
        beams=3,
        branch=7,
        attends="decoder",
        rows="read",
        pair_heads=((0, 1), (1, 2)),
        pair_queries=(1, 2),
        pair_keys=(0,),
        why_written=1,
        why_versus=4,
    )
    assert from_query(to_query(full), [Choices]) == (full, ())


def test_what_a_translation_lacks_leaves_the_selection(chosen: Selection) -> None:
    own = {"attends": "encoder", "pair_heads": ((0, 1), (1, 0)), "pair_queries": (2, 90), "pair_keys": (99,)}
    own |= {"why_written": 99, "why_versus": 10**6}
    far = chosen.updated(Choices, branch=10**5, **own)
    left = within(far, translations.for_selection(far))
    assert left.branch is None
    assert left.choices_of(Choices).pair_heads == ((0, 1),)
    assert (left.choices_of(Choices).pair_queries, left.choices_of(Choices).pair_keys) == ((2,), ())
    assert (left.choices_of(Choices).why_written, left.choices_of(Choices).why_versus) == (None, None)


def test_a_model_that_is_open_no_more_is_not_kept_by_its_translations(
    settings: dict[str, object], chosen: Selection
) -> None:
    """What a closed model wrote would hold it, uncounted, until as many bytes were written by others."""
    translations.of_one(chosen)
    models._opened().drop(lambda model: True)
    runs.forget_closed()
    kept = [runs.kept(key) for key in runs._results().keys]
    assert not [each for each in kept if isinstance(each, Translation)]
    assert kept  # the beams hold no model
