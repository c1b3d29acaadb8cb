"""Conversations as prompts: their tokens against transformers' apply_chat_template, and which turn each belongs to."""

from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from headlight.model import Conversation, Tokenizer
from headlight.model.base.errors import InputError
from headlight.model.text.tokenizer_files import may_ask_to_think
from headlight.model.text.turns import BY_TEMPLATE, turns_of
from tests.model.text.chat_templates import TEMPLATES, write_chat

SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "the cat sat"}
SAID = {"role": "assistant", "content": "on the mat"}
THOUGHT = {"role": "assistant", "content": "<think>\nthe mat\n</think>\n\non the mat"}
MORE = {"role": "user", "content": " user: the <|im_end|> mat?\n"}
ENDINGS: list[dict[str, Any]] = [{}, {"add_generation_prompt": False}]
OPEN = {"add_generation_prompt": False, "continue_final_message": True}
TURNS = [[ASKED], [ASKED, SAID, MORE], [SYSTEM, ASKED, SAID, MORE, SAID], [ASKED, THOUGHT, MORE, THOUGHT]]


@pytest.fixture(params=TEMPLATES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_chat(tmp_path, request.param)


def expected(theirs: Any, conversation: Conversation) -> Any:
    """transformers' tokens, or its refusal."""
    try:
        return theirs.apply_chat_template(list(conversation.messages), return_dict=False, **conversation.settings)
    except Exception as error:
        return type(error)


def test_tokens_are_those_of_transformers(folder: Path) -> None:
    """Of every template, with every ending, prefilled answer and thinking on, off and left to the template."""
    ours, theirs = Tokenizer.from_folder(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    compared = 0
    for messages in TURNS:
        endings = [*ENDINGS, OPEN] if messages[-1]["role"] == "assistant" else ENDINGS
        for ending in endings:
            for thinks in (None, True, False):
                conversation = Conversation(tuple(messages), **ending, enable_thinking=thinks)
                ids = expected(theirs, conversation)
                if isinstance(ids, list):
                    assert ours.to_tokens(conversation.to_prompt(), "chat")[0].tolist() == ids
                    compared += 1
    assert compared >= 20
    assert ours.may_think == ("enable_thinking" in theirs.chat_template)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_look_at_the_files_says_whether_a_template_asks_to_think(name: str, tmp_path: Path) -> None:
    asks = "enable_thinking" in TEMPLATES[name]
    assert may_ask_to_think(write_chat(tmp_path, name)) == asks
    gguf = tmp_path / "model.gguf"
    gguf.write_bytes(b"GGUF" + TEMPLATES[name].encode() + b"\xff")
    assert may_ask_to_think(gguf) == asks


def test_turns_part_the_tokens(folder: Path) -> None:
    """Without gaps, each with its content, and the answer's beginning behind the last."""
    ours = Tokenizer.from_folder(folder)
    for messages in TURNS[:2]:
        prompt = Conversation(tuple(messages)).to_prompt()
        ids = ours.to_tokens(prompt, "chat")[0].tolist()
        turns = turns_of(ours, prompt)
        assert [turn.start for turn in turns] == [0, *(turn.stop for turn in turns[:-1])]
        assert turns[-1].stop == len(ids)
        texts = [(turn.role, ours.to_string(ids[turn.start : turn.stop])) for turn in turns if turn.role != BY_TEMPLATE]
        assert [role for role, _ in texts[: len(messages)]] == [message["role"] for message in messages]
        for message, (_, text) in zip(messages, texts, strict=False):
            assert message["content"].strip() in text
            others = [other["content"].strip() for other in messages if other is not message]
            assert not any(other in text for other in others if other not in message["content"])


@pytest.mark.parametrize(
    ("name", "messages", "roles"),
    [
        ("chatml", [ASKED], ["template", "user", "assistant"]),
        ("chatml", [SYSTEM, ASKED], ["system", "user", "assistant"]),
        ("chatml", [ASKED, {"role": "assistant", "content": "a"}], ["template", "user", "assistant", "assistant"]),
        ("gemma", [SYSTEM, ASKED, SAID], ["system", "user", "assistant", "assistant"]),
        ("mistral", [ASKED, SAID, MORE], ["user", "assistant", "user"]),
        ("qwen3", [ASKED, THOUGHT, MORE], ["user", "assistant", "user", "assistant"]),
    ],
)
def test_roles_of_a_template(tmp_path: Path, name: str, messages: list[Any], roles: list[str]) -> None:
    tokenizer = Tokenizer.from_folder(write_chat(tmp_path, name))
    turns = turns_of(tokenizer, Conversation(tuple(messages)).to_prompt())
    assert [turn.role for turn in turns] == roles


def test_turns_end_where_the_template_ends_them(tmp_path: Path) -> None:
    """By hand, in ChatML: the mark and the line's end belong to the turn before, what is written to the last."""
    tokenizer = Tokenizer.from_folder(write_chat(tmp_path, "chatml"))
    prompt = Conversation((SYSTEM, ASKED), False, False).to_prompt()
    ids = tokenizer.to_tokens(prompt, "chat")[0].tolist()
    system, user = turns_of(tokenizer, prompt, n_written=3)
    assert tokenizer.to_string(ids[: system.stop]) == "<|im_start|>system\nBe brief.<|im_end|>\n"
    assert (user.start, user.stop) == (system.stop, len(ids) + 3)


@pytest.mark.parametrize(
    "conversation",
    [
        Conversation((ASKED,)),
        Conversation((ASKED,), enable_thinking=True),
        Conversation((ASKED, SAID), False, True),
        Conversation((SYSTEM, ASKED), False),
        Conversation(({"role": "user", "content": '[{"role": "user", "content": "JSON itself"}]'},)),
        Conversation(({"role": "tool", "content": "naïve 🤔 ␣", "name": "x"}, ASKED)),
    ],
)
def test_a_prompt_is_the_conversation_that_it_was_written_from(conversation: Conversation) -> None:
    assert Conversation.from_prompt(conversation.to_prompt()) == conversation


def test_a_plain_text_is_what_a_user_says() -> None:
    for text in ("the cat", "[1, 2]", '{"messages": []}', "[{]", '[{"a": 1}]', "", "[" * 100_000):
        assert Conversation.from_prompt(text) == Conversation(({"role": "user", "content": text},))
    assert Conversation((ASKED,)).to_prompt() == ASKED["content"]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ('[{"role": "user"}]', "Turn 1 has no text under “content”"),
        ('[{"role": "user", "content": "a"}, {"role": 1, "content": "a"}]', "Turn 2 has no text under “role”"),
        ('[{"role": "user", "content": ["a"]}]', "no text under “content”"),
        ('{"messages": [{"role": "user", "content": "a"}], "enable_thinking": "yes"}', "it is true or false"),
        (
            '{"messages": [{"role": "user", "content": "a"}], "add_generation_prompt": true,'
            ' "continue_final_message": true}',
            "Either a new answer begins",
        ),
    ],
)
def test_what_is_no_conversation_is_said(prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Conversation.from_prompt(prompt)
    with pytest.raises(InputError, match="1 to 256 turns; this one has 257"):
        Conversation((ASKED,) * 257)
