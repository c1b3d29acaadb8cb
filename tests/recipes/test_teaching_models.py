"""The models written by hand as folders: what ships is what the code writes, and does what its card says."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from headlight.model import embedded_models, load, save_transformer
from headlight.model.base.errors import CheckpointError, ConfigError, InputError
from headlight.model.roles import detectors
from headlight.model.roles.sequences import repeated_halves
from headlight.model.runs.edits.interventions import ablate_head
from headlight.model.weights import composition
from headlight.model.weights.composition import Product
from headlight.recipes.teaching import teaching_models
from headlight.recipes.teaching_weights import HEADS

PROMPTS = {
    "teach-induction": ("Mary found the small key. John went to a shop. Mary found the small", "key"),
    "teach-copy": ("John went to the ! river and gave Mary a key ?", "river"),
}


def words_of(name: str) -> str:
    """A card's text on one line."""
    return re.sub(r"\s+", " ", (embedded_models()[name] / "README.md").read_text())


@pytest.mark.parametrize("name", HEADS)
def test_the_folder_is_what_the_code_writes(name: str, tmp_path: Path) -> None:
    save_transformer(teaching_models()[name], tmp_path)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(written) == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    for file, content in written.items():
        assert (embedded_models()[name] / file).read_bytes() == content


@pytest.mark.parametrize("name", HEADS)
def test_the_prompt_of_the_card_is_answered_as_the_card_says(name: str) -> None:
    model, (prompt, answer) = load(name), PROMPTS[name]
    tokens = model.to_tokens(prompt, prepend_bos=True)
    chances = model(tokens)[0].softmax(-1)
    assert model.to_string(chances[-1].argmax()) == f" {answer}"
    assert chances[-1].max() > 0.9999
    assert f"{chances[1].max():.1%} each" == "3.2% each"
    card = words_of(name)
    assert " ".join(model.to_str_tokens(prompt)).replace("  ", " ").strip() + f" → {answer}" in card
    for said in ("more than 99.99%", "all 31 tokens are alike, at 3.2% each", "At most 40 tokens"):
        assert said in card
    assert (model.cfg.d_vocab, model.cfg.n_ctx) == (31, 40)


@pytest.mark.parametrize("name", HEADS)
def test_the_card_says_of_each_head_what_the_code_says(name: str) -> None:
    card = words_of(name)
    for (layer, head), does in HEADS[name].items():
        assert f"| L{layer}H{head} | {does} |" in card


@pytest.mark.parametrize("name", HEADS)
def test_any_other_word_is_refused_by_name_with_those_that_are_taken(name: str) -> None:
    model = load(name)
    with pytest.raises(
        InputError, match=r"knows 30 words and not: dog \{ \} sees\. Use these alone: ! \( .* went when$"
    ):
        model.to_tokens("The dog {} sees Mary")
    with pytest.raises(InputError, match=r"and not: < \| endoftext >"):
        model.to_tokens("<|endoftext|> Mary", parse_special=False)
    text = model.to_string(range(1, 31))
    assert model.to_tokens(text).tolist() == [[*range(1, 31)]]
    listed = words_of(name).split("30 words and marks: ")[1].split(", capitals")[0]
    assert sorted(re.sub("[`*]", "", listed).replace(" and a and", " a and").split()) == sorted(text.split())


def found_in(name: str) -> dict[str, set[tuple[int, int]]]:
    """The heads that score above 0.9, by what is scored, on random tokens that come twice."""
    model = load(name)
    twice = repeated_halves(4, 15, np.arange(7, 31), np.random.default_rng(0))
    tokens = torch.cat([torch.zeros(4, 1, dtype=torch.long), twice], 1)
    _, cache = model.run_with_cache(tokens, lambda each: each.endswith("pattern"))
    no_marks = torch.zeros(31, dtype=torch.bool)
    heads_by_kind: dict[str, set[tuple[int, int]]] = {}
    for kind in ("previous_token", "current_token", "induction", "first_token"):
        for layer, head in HEADS[name]:
            patterns = zip(cache["pattern", layer][:, head], tokens, strict=True)
            scores = [detectors.detector_scores(each[None], row, no_marks)[kind].values for each, row in patterns]
            if torch.stack(scores).mean() > 0.9:
                heads_by_kind.setdefault(kind, set()).add((layer, head))
    return heads_by_kind


def test_detectors_find_the_heads_that_were_written() -> None:
    """Of the model that copies, the head that is asked by nothing rests on the first token, as it says."""
    assert found_in("teach-induction") == {
        "previous_token": {(0, 0)},
        "current_token": {(0, 1)},
        "induction": {(1, 0), (1, 1)},
        "first_token": {(1, 2)},
    }
    assert found_in("teach-copy") == {
        "previous_token": {(0, 0)},
        "current_token": {(0, 1)},
        "first_token": {(1, 0), (1, 1)},
    }


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_needs_the_heads_that_write_and_no_other(name: str) -> None:
    model, (prompt, answer) = load(name), PROMPTS[name]
    tokens, right = model.to_tokens(prompt, prepend_bos=True), model.to_single_token(answer)
    for (layer, head), does in HEADS[name].items():
        chance = model(tokens, tap=ablate_head(layer, head, "zero"))[0, -1].softmax(-1)[right]
        assert chance > 0.9999 if does.endswith("writes nothing") else chance < 0.04


@pytest.mark.parametrize("name", HEADS)
def test_the_key_of_the_second_layer_is_read_from_the_head_before_and_from_no_other(name: str) -> None:
    model = load(name)
    W = [dict(model.blocks[layer].get_submodule("attn").named_parameters()) for layer in range(2)]
    earlier = Product(W[0]["W_V"], W[0]["W_O"])
    scores = {}
    for through in ("query", "key", "value"):
        later = composition.reader(through, *(W[1][each][0] for each in ("W_Q", "W_K", "W_V", "W_O")))  # type: ignore[arg-type]
        scores[through] = composition.composition(earlier, later)
    assert scores["key"].nan_to_num(-1).argmax() == 0  # the previous-token head
    assert scores["key"][0] > 0.1
    assert not any(scores[through].nan_to_num(0).any() for through in ("query", "value"))


def test_a_folder_of_any_config_is_written_and_read_again(tmp_path: Path) -> None:
    model = teaching_models()["teach-copy"]
    save_transformer(model, tmp_path)
    again = load(tmp_path)
    assert again.cfg == model.cfg
    assert again.source is not None
    assert (again.source.family, again.source.weights) == ("headlight", (tmp_path / "model.safetensors",))
    assert all(torch.equal(first, second) for first, second in zip(model.parameters(), again.parameters(), strict=True))
    config = tmp_path / "config.json"
    text = config.read_text()
    for config_text, error, said in (
        (text.replace('"n_layers": 2', '"n_layers": 3'), CheckpointError, "blocks"),
        (text.replace('"n_layers": 2', '"n_layers": 3000000'), CheckpointError, "3000000 layers"),
        (text.replace('"n_heads": 2,', ""), ConfigError, "lacks settings.*n_heads"),
        (text.replace("n_heads", "n_head"), ConfigError, "no setting 'n_head'"),
    ):
        config.write_text(config_text)
        with pytest.raises(error, match=said):
            load(tmp_path)
