"""A chat in a real browser: three turns, one of them edited, gone on with by the model, and looked at."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect
from transformers import AutoTokenizer

from headlight.app.registry import VIEWS
from headlight.model import Conversation
from tests.e2e.driver import Driver
from tests.small_model import save_small

GENERATE, LENS, MLP, WHY = (
    next(view for view in VIEWS if view.slug == slug) for slug in ("generate", "lens", "mlp", "why")
)
TEMPLATE = (
    "{% for turn in messages %}{{ bos_token }}{{ turn.role }}: {{ turn.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ bos_token }}assistant:{% endif %}"
)

# Whether each role stands to the left of its turn's first token, on the same line.
IS_BEFORE = """marks => marks.map(mark => {
    const [role, token] = [mark, mark.nextElementSibling].map(element => element.getBoundingClientRect());
    return role.right <= token.left && role.bottom > token.top && role.top < token.bottom;
})"""


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random model with a chat template."""
    folder = tmp_path_factory.mktemp("models") / "chat"
    save_small(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


ROLES = ("user", "assistant", "user", "assistant")


def _turn(app: Driver, number: int, text: str) -> None:
    app.page.get_by_role("textbox", name=f"Turn {number}", exact=True).fill(text)


def _n_tokens(folder: Path, *texts: str) -> int:
    roles = ("user", "assistant") * len(texts)
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    theirs = AutoTokenizer.from_pretrained(folder)
    return len(theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))


def test_a_chat_of_three_turns_is_edited_gone_on_with_and_looked_at(app: Driver, chat: Path) -> None:
    app.open(prompt="one two")
    app.open_model(str(chat))
    app.settle()
    app.choose("Begin with", "chat template")
    app.run_button.click()
    app.settle()
    for number, text in ((2, "three four"), (3, "one two")):
        app.page.get_by_role("button", name="Add turn").click()
        _turn(app, number, text)
    app.page.keyboard.press("Control+Enter")
    expect(app.fed).to_contain_text(f"{_n_tokens(chat, 'one two', 'three four', 'one two')} input tokens")
    _turn(app, 2, "four five")
    app.run_button.click()
    expect(app.fed).to_contain_text(f"{_n_tokens(chat, 'one two', 'four five', 'one two')} input tokens")
    app.settle()

    app.go_to(GENERATE)
    expect(app.page.get_by_text("Step 1 of 20")).to_be_visible()
    app.page.get_by_role("button", name="Use as prompt").click()
    expect(app.page.get_by_role("textbox", name="Turn 4", exact=True)).not_to_be_empty()
    app.settle()
    roles = app.page.locator(".block > .turn").all_inner_texts()
    assert roles == [*ROLES]
    assert app.page.locator(".block > .turn").evaluate_all(IS_BEFORE) == [True] * 4
    assert app.picture()
    query = Conversation.from_prompt(parse_qs(urlparse(app.page.url).query)["prompt"][0])
    assert [message["content"] for message in query.messages[:3]] == ["one two", "four five", "one two"]
    assert query.messages[3]["role"] == "assistant"


def test_roles_are_marked_in_every_list_of_a_chats_tokens(app: Driver, chat: Path) -> None:
    roles = zip(ROLES, ("one two", "three four", "one two"), strict=False)
    messages = [{"role": role, "content": text} for role, text in roles]
    query = {"model": str(chat), "bos": "chat", "prompt": Conversation(tuple(messages)).to_prompt()}
    names = "lists => lists.map(list => [...list.querySelectorAll('optgroup')].map(group => group.label))"
    app.open(MLP, **query)
    assert app.page.locator(".chips > .turn").all_inner_texts() == [*ROLES]
    assert app.page.locator(".chips > .turn").evaluate_all(IS_BEFORE) == [True] * 4
    assert app.page.get_by_role("combobox", name="Token", exact=True).evaluate_all(names) == [[*ROLES]]
    app.go_to(WHY)
    lists = app.page.get_by_role("combobox", name=re.compile("^(Predicted after|Query token|Key token)$"))
    assert lists.evaluate_all(names) == [[*ROLES]] * 3
    app.go_to(LENS)
    app.page.get_by_role("application", name=re.compile("^Logit lens")).focus()
    app.page.keyboard.press("End")
    expect(app.page.locator("[aria-live]").filter(has_text="in a turn of assistant").first).to_be_attached()


def test_on_a_phone_all_is_read_of_what_was_run(app: Driver, chat: Path) -> None:
    """Of a chat the model, the number of its tokens and the template did not fit beside the buttons, and were cut."""
    prompt = Conversation(({"role": "user", "content": "one two three"},)).to_prompt()
    app.page.set_viewport_size({"width": 320, "height": 640})
    app.open(model=str(chat), bos="chat", prompt=prompt)
    fed = app.page.locator(".st-key-headlight-fedA .stText > span").first
    expect(fed).to_contain_text("in the chat template")
    assert fed.evaluate("span => span.scrollWidth <= span.clientWidth")
    assert app.page.evaluate("document.documentElement.scrollWidth") <= 320
