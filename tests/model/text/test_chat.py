"""Chat templates against transformers' own."""

import json
import time
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from headlight.model import Conversation, Tokenizer
from headlight.model.base.errors import InputError
from headlight.model.text.chat import ChatTemplate
from tests.model.text.small_tokenizer import sentence_piece, write

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('no ' + m.role) }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
TOLD = {"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "PreTrainedTokenizerFast"}
MESSAGES = [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "sat"}]
CHAT = Conversation(tuple(MESSAGES))


@pytest.fixture(params=["setting", "list", "file"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    several = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": TEMPLATE}]
    templates = {"setting": TEMPLATE, "list": several}
    settings = TOLD | ({"chat_template": templates[request.param]} if request.param in templates else {})
    write(tmp_path, sentence_piece(), **settings)
    if request.param == "file":
        (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    return tmp_path


@pytest.mark.parametrize("prompt", [True, False])
def test_a_conversation_is_written_as_transformers_writes_it(folder: Path, prompt: bool) -> None:
    ours, theirs = Tokenizer.from_folder(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    expected = theirs.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=prompt)
    text = ours.apply_chat_template(MESSAGES, add_generation_prompt=prompt)
    assert text == expected
    ids = theirs.apply_chat_template(MESSAGES, add_generation_prompt=prompt, return_dict=False)
    assert ours.to_tokens(text, parse_special=True)[0].tolist() == ids


def test_a_text_is_what_a_user_says(folder: Path) -> None:
    ours, theirs = Tokenizer.from_folder(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    assert ours.has_chat_template
    for text in ("the cat", "", "a </s> b"):
        turn = [{"role": "user", "content": text}]
        expected = theirs.apply_chat_template(turn, add_generation_prompt=True, return_dict=False)
        assert ours.to_tokens(text, prepend_bos="chat")[0].tolist() == expected


def test_what_the_template_refuses_is_said(folder: Path) -> None:
    with pytest.raises(InputError, match=r"does not take this conversation \(no system"):
        Tokenizer.from_folder(folder).apply_chat_template([{"role": "system", "content": "x"}])


def test_a_template_that_is_no_template_is_said(tmp_path: Path) -> None:
    write(tmp_path, sentence_piece(), chat_template="{% for %}")
    with pytest.raises(InputError, match="does not take"):
        Tokenizer.from_folder(tmp_path).apply_chat_template(MESSAGES)


def test_where_there_is_no_template_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({}))
    write(tmp_path, sentence_piece())
    with pytest.raises(InputError, match="has no chat template"):
        Tokenizer.from_folder(tmp_path).apply_chat_template(MESSAGES)
    with pytest.raises(InputError, match=r"has no chat template.*Begin with"):
        Tokenizer.from_folder(tmp_path).to_tokens("the", prepend_bos="chat")


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**11 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 'a'.center(10**10) }}",
        "{{ 'a' * 2000000 }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_would_never_end_is_ended(template: str) -> None:
    """It takes its time and memory in a process of its own, and the next template is rendered as before."""
    begun = time.process_time()
    with pytest.raises(InputError, match=r"does not take this conversation \((it takes too much|it makes 2,0)"):
        ChatTemplate(template, {}).apply(CHAT)
    assert ChatTemplate("{{ messages[0].content }}!", {}).apply(CHAT) == "the cat!"
    assert time.process_time() - begun < 1  # of this process


def test_a_conversation_that_is_no_json_is_refused() -> None:
    with pytest.raises(InputError, match="holds what is no JSON"):
        ChatTemplate("{{ messages }}", {}).apply(Conversation(({**MESSAGES[0], "tool": object()},)))


@pytest.mark.parametrize("in_settings", [True, False])
def test_templates_of_which_none_is_the_default_are_named(in_settings: bool, tmp_path: Path) -> None:
    """Where transformers refuses too; the way out that is said opens the model's own template."""
    several = [{"name": name, "template": TEMPLATE} for name in ("rag", "tool_use")]
    write(tmp_path, sentence_piece(), **TOLD, **({"chat_template": several} if in_settings else {}))
    if not in_settings:
        (tmp_path / "additional_chat_templates").mkdir()
        for each in several:
            (tmp_path / "additional_chat_templates" / f"{each['name']}.jinja").write_text(TEMPLATE)
    with pytest.raises(ValueError, match="no default"):
        PreTrainedTokenizerFast.from_pretrained(tmp_path).apply_chat_template(MESSAGES)
    ours = Tokenizer.from_folder(tmp_path)
    with pytest.raises(InputError, match=r"called rag, tool_use, and none is the default.*chat_template\.jinja"):
        ours.to_tokens("the", prepend_bos="chat")
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    assert Tokenizer.from_folder(tmp_path).apply_chat_template(MESSAGES).startswith("<s><user>the cat</s>")
