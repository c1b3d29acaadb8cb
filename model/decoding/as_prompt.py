"""What a model wrote as part of the prompt, so that a run looks at it like at any other text."""

from headlight.model.decoding.continued import Written
from headlight.model.text.conversation import Conversation


def as_prompt(written: Written) -> str:
    """The prompt with the written text behind it: in a chat as the model's turn, without the token that ends it.

    The turn goes on from its last word, so that no token of the template's stands behind what was written.
    """
    tokens, run = written.tokens.tolist(), written.run
    ended = bool(tokens) and tokens[-1] in run.model.stop_tokens
    text = run.tokenizer.to_string(tokens[:-1] if ended else tokens)
    if run.bos != "chat":
        return run.prompt + text
    conversation = Conversation.from_prompt(run.prompt)
    messages = [dict(message) for message in conversation.messages]
    if conversation.add_generation_prompt or not conversation.continue_final_message:
        messages.append({"role": "assistant", "content": text})
    else:
        messages[-1]["content"] += text
    goes_on = bool(messages[-1]["content"])
    return Conversation(tuple(messages), False, goes_on, enable_thinking=conversation.enable_thinking).to_prompt()


def keeps_tokens(written: Written) -> bool:
    """Whether that prompt begins with the very tokens that were written, which a tokenizer may join otherwise."""
    run = written.run
    tokens = run.tokenizer.to_tokens(as_prompt(written), run.bos)[0]
    return tokens[: len(run.tokens)].equal(run.tokens)
