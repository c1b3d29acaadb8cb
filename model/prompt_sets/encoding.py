"""A set of prompts in a model's tokens: which rows can be used, and why not the others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.config import TransformerConfig
from headlight.model.prompt_sets.prompt_set import Answer, Place, Prompt, PromptPair, PromptSet
from headlight.model.text.chat import Begin, is_begun
from headlight.model.text.encoded_text import EncodedText
from headlight.model.text.outputs import LabelNames, Outputs
from headlight.model.text.tokenizer import Tokenizer

END = "end"  # the name of the last token, at which the answer is read
NEUTRAL = "a"  # a text before an answer with a space
AT_ONCE = 500  # rows whose prompts are encoded together


@dataclass(frozen=True, eq=False)
class TokenRow:
    """A row of a set in tokens.

    Attributes:
        number: the row's number in the set, from 1.
        clean: the clean prompt's token ids.
        corrupted: the corrupted prompt's.
        answers: the outputs that are right.
        wrong_answers: the outputs that are wrong.
        positions: token indices by name in the clean and the corrupted prompt; "end", the last token, is always there.
    """

    number: int
    clean: Int[Tensor, " pos"]
    corrupted: Int[Tensor, " corrupted_pos"] | None
    answers: tuple[int, ...]
    wrong_answers: tuple[int, ...]
    positions: Mapping[str, tuple[int, int | None]]

    @property
    def lengths(self) -> tuple[int, int | None]:
        """The numbers of tokens of the clean and of the corrupted prompt."""
        return len(self.clean), None if self.corrupted is None else len(self.corrupted)

    @property
    def is_aligned(self) -> bool:
        """Whether each position of one prompt has its counterpart in the other."""
        return self.corrupted is None or len(self.corrupted) == len(self.clean)


@dataclass(frozen=True, eq=False)
class TokenSet:
    """The rows of a set that a model can take.

    Attributes:
        name: the set's name.
        rows: the rows that can be used.
        refused: why each other row cannot be, by its number, with what to do.
        position_names: the names that are known in every row, in order of appearance, "end" last.
        notes: what is worth knowing of rows that are used, a sentence each.
    """

    name: str
    rows: tuple[TokenRow, ...]
    refused: Mapping[int, str]
    position_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def has_answers(self) -> bool:
        """Whether every row has an answer."""
        return bool(self.rows) and all(row.answers for row in self.rows)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of tokens that the prompts have, in order."""
        return tuple(sorted({n_pos for row in self.rows for n_pos in row.lengths if n_pos is not None}))

    @property
    def is_one_length(self) -> bool:
        """Whether all prompts, clean and corrupted, have the same number of tokens."""
        return len(self.lengths) == 1

    @property
    def is_aligned(self) -> bool:
        """Whether the two prompts of every pair have the same number of tokens."""
        return all(row.is_aligned for row in self.rows)

    def check_usable(self) -> None:
        """Refuse a set without a row that can be used, with the first reason.

        Raises:
            InputError: there is none.
        """
        if not self.rows:
            why = next(iter(self.refused.values()), "It has no rows.")
            raise InputError(f"No row of the set {self.name} can be used with this model. {why}")

    def only(self, numbers: Sequence[int]) -> "TokenSet":
        """The set with the rows of these numbers alone."""
        wanted = set(numbers)
        rows = tuple(row for row in self.rows if row.number in wanted)
        return TokenSet(self.name, rows, self.refused, _position_names(rows), self.notes)


def not_read_last(cfg: TransformerConfig) -> str:
    """Say why a model cannot be measured at a prompt's last token, and what to do; nothing where it can."""
    if cfg.attention_dir == "causal" and cfg.output in ("tokens", "labels") and _reads_last(cfg):
        return ""
    return (
        "Sets are measured at each prompt's last token, and this model is not read there. Choose a language model, or "
        "a classifier that reads the last token."
    )


def to_tokens(
    prompt_set: PromptSet,
    tokenizer: Tokenizer,
    bos: Begin = False,
    *,
    with_space: bool = False,
    cfg: TransformerConfig | None = None,
) -> TokenSet:
    """Encode a set; a row that cannot be used is left out and said why.

    Args:
        prompt_set: the set.
        tokenizer: the model's tokenizer.
        bos: how a text begins. Prompts of token ids are taken as they are.
        with_space: put a space before each answer that begins without one.
        cfg: the model's settings: with them ids are checked against its vocabulary and prompts against its context,
            and a classifier's answers are its labels.

    Raises:
        InputError: the settings are of a model that is not read at its last token.
    """
    if cfg and (obstacle := not_read_last(cfg)):
        raise InputError(obstacle)
    encoder = _Encoder(tokenizer, bos, with_space, cfg)
    rows, refused = list[TokenRow](), dict[int, str]()
    for number, pair in enumerate(prompt_set.rows, start=1):
        if number % AT_ONCE == 1:
            encoder.encode_ahead(prompt_set.rows[number - 1 : number - 1 + AT_ONCE])
        try:
            rows.append(encoder.row(number, pair))
        except InputError as error:
            refused[number] = f"Row {number}: {error}"
    return TokenSet(prompt_set.name, tuple(rows), refused, _position_names(rows), encoder.notes())


def batches(rows: Sequence[TokenRow], at_most: int) -> Iterator[list[TokenRow]]:
    """The rows in groups of one length, of the clean and of the corrupted prompts; nothing is ever padded."""
    by_length: dict[tuple[int, int | None], list[TokenRow]] = {}
    for row in rows:
        by_length.setdefault(row.lengths, []).append(row)
    for group in by_length.values():
        for start in range(0, len(group), at_most):
            yield group[start : start + at_most]


def _position_names(rows: Sequence[TokenRow]) -> tuple[str, ...]:
    if not rows:
        return ()
    first = sorted(rows[0].positions, key=lambda name: (name == END, rows[0].positions[name][0]))
    return tuple(name for name in first if all(name in row.positions for row in rows))


@dataclass
class _Encoder:
    """Encodes rows with one tokenizer, remembering the answers' tokens and what is worth a note."""

    tokenizer: Tokenizer
    bos: Begin
    with_space: bool
    cfg: TransformerConfig | None
    _tokens: dict[str, int | InputError] = field(default_factory=dict)
    _without_space: list[tuple[int, str]] = field(default_factory=list)
    _same: list[int] = field(default_factory=list)
    _encoded: dict[str, EncodedText] = field(default_factory=dict)

    def encode_ahead(self, pairs: Sequence[PromptPair]) -> None:
        """Encode the prompts of some rows together; where one of them fails, each is encoded when its row comes."""
        texts = dict.fromkeys(
            prompt for pair in pairs for prompt in (pair.clean, pair.corrupted) if isinstance(prompt, str)
        )
        self._encoded.clear()
        with suppress(InputError):
            self._encoded.update(zip(texts, self.tokenizer.encode_batch(list(texts), self.bos), strict=True))

    def row(self, number: int, pair: PromptPair) -> TokenRow:
        """One row in tokens.

        Raises:
            InputError: it cannot be used.
        """
        clean = self._prompt(pair.clean, "clean")
        corrupted = None if pair.corrupted is None else self._prompt(pair.corrupted, "corrupted")
        answers, wrong = self._answers(pair.answers), self._answers(pair.wrong_answers)
        if both := set(answers) & set(wrong):
            label = self._outputs.labels(min(both))[0]
            raise InputError(f"{label} is both an answer and a wrong answer. Remove it from one of the two.")
        if wrong and not answers:
            raise InputError("It has wrong answers and no answer. Give an answer too.")
        positions = self._positions(pair, clean, corrupted)
        if corrupted is not None and len(corrupted) != len(clean) and positions.keys() == {END}:
            raise InputError(
                f"Its clean prompt has {len(clean)} tokens and its corrupted prompt {len(corrupted)}, so that nothing "
                "says which belong together. Give prompts of one length, or positions by name in both."
            )
        if corrupted is not None and torch.equal(clean, corrupted):
            self._same.append(number)
        self._note_space(number, pair)
        return TokenRow(number, clean, corrupted, answers, wrong, positions)

    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of the rows that are used."""
        notes = []
        if self._without_space:
            number, answer = self._without_space[0]
            notes.append(
                f"{_rows(len(self._without_space))} an answer without a space before it (row {number}: {answer!r}), "
                f"though {' ' + answer!r} is a token too and the prompt ends without a space. Choose answers with a "
                "space if the text would go on with one."
            )
        if self._same:
            notes.append(
                f"{_rows(len(self._same))} the same clean and corrupted prompt (row {self._same[0]}), so that nothing "
                "can be restored there."
            )
        return tuple(notes)

    @property
    def _outputs(self) -> Outputs:
        labels = self.cfg.output_labels if self.cfg else ()
        return LabelNames(labels) if labels else self.tokenizer

    def _prompt(self, prompt: Prompt, which: str) -> Int[Tensor, " pos"]:
        if not (prompt.strip() if isinstance(prompt, str) else prompt):
            raise InputError(f"Its {which} prompt is empty. Give a text, or leave the row out.")
        if isinstance(prompt, str):
            tokens = torch.tensor(self._of_text(prompt).ids, dtype=torch.long)
        else:
            tokens = torch.tensor(prompt, dtype=torch.long)
            for token in prompt:
                self._check_id(token, f"Its {which} prompt has", self.cfg.d_vocab if self.cfg else None)
        if self.cfg and len(tokens) > self.cfg.n_ctx:
            raise InputError(
                f"Its {which} prompt has {len(tokens)} tokens; the model takes {self.cfg.n_ctx}. Shorten it."
            )
        return tokens

    def _check_id(self, token: int, what: str, d_vocab: int | None) -> None:
        size = d_vocab or self.tokenizer.vocabulary_size
        if not 0 <= token < size:
            raise InputError(
                f"{what} token id {token}; this model's are 0 to {size - 1}. The set's ids are of another vocabulary: "
                "give its texts, or the ids of this model's tokenizer."
            )

    def _answers(self, answers: Sequence[Answer]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self._answer(answer) for answer in answers))

    def _answer(self, answer: Answer) -> int:
        if isinstance(answer, int):
            d_out = (self.cfg.d_vocab_out or self.cfg.d_vocab) if self.cfg else None
            self._check_id(answer, "Its answer is", d_out)
            return answer
        if not answer.strip(" "):
            raise InputError("An answer is empty. Give a text of one token, or leave the row out.")
        spaced = f" {answer}" if self.with_space and not answer[0].isspace() else answer
        token = self._token(spaced)
        if isinstance(token, int):
            return token
        offer = ""
        if not answer[0].isspace() and not self.with_space and isinstance(self._token(f" {answer}"), int):
            offer = f" With a space before it, {' ' + answer!r}, it is one: choose answers with a space."
        raise InputError(f"Its answer {token}{offer}")

    def _token(self, answer: str) -> int | InputError:
        """The one token of an answer, or why there is none."""
        if answer not in self._tokens:
            try:
                self._tokens[answer] = self._behind_text(answer)
            except InputError as error:
                self._tokens[answer] = error
        return self._tokens[answer]

    def _behind_text(self, answer: str) -> int:
        """The token of an answer; one with a space is read behind a text, where SentencePiece has it as one token."""
        if isinstance(self._outputs, Tokenizer) and answer.startswith(" "):
            try:
                before, whole = (self.tokenizer.to_tokens(text)[0].tolist() for text in (NEUTRAL, NEUTRAL + answer))
            except InputError:  # a vocabulary of words that lacks this one
                before, whole = [], []
            if len(whole) == len(before) + 1 and whole[:-1] == before:
                return int(whole[-1])
        return self._outputs.to_single_token(answer)

    def _note_space(self, number: int, pair: PromptPair) -> None:
        if self.with_space or not isinstance(pair.clean, str) or pair.clean[-1].isspace():
            return
        for answer in pair.answers:
            goes_on = isinstance(answer, str) and answer[0].isdigit() and pair.clean[-1].isdigit()  # as 17 does to 1752
            if isinstance(answer, str) and answer[0].isalnum() and not goes_on:
                token = self._token(f" {answer}")
                if isinstance(token, int) and token != self._token(answer):
                    self._without_space.append((number, answer))
                    return

    def _positions(
        self, pair: PromptPair, clean: Int[Tensor, " pos"], corrupted: Int[Tensor, " corrupted_pos"] | None
    ) -> dict[str, tuple[int, int | None]]:
        positions: dict[str, tuple[int, int | None]] = {}
        for name, (place, other) in pair.positions.items():
            here = self._position(name, place, pair.clean, clean)
            if corrupted is None or pair.corrupted is None:
                positions[name] = here, None
            elif other is not None:
                positions[name] = here, self._position(name, other, pair.corrupted, corrupted)
            else:
                positions[name] = here, here if len(clean) == len(corrupted) else None
        end = len(clean) - 1, None if corrupted is None else len(corrupted) - 1
        if positions.pop(END, end) != end:
            raise InputError('Its position "end" is not the last token, which has this name. Name it otherwise.')
        return {**positions, END: end}

    def _position(self, name: str, place: Place, prompt: Prompt, tokens: Int[Tensor, " pos"]) -> int:
        """The index of the token that a place stands for."""
        if isinstance(place, int):
            index = place + (len(tokens) if place < 0 else self._n_before(prompt))
            if not 0 <= index < len(tokens):
                raise InputError(f"Its position {name!r} is token {place}; the prompt has {len(tokens)} tokens.")
            return index
        if not isinstance(prompt, str):
            raise InputError(f"Its position {name!r} is a span of characters, and the prompt token ids. Give an index.")
        start, stop = place
        if not 0 <= start < stop <= len(prompt):
            raise InputError(
                f"Its position {name!r} is characters {start} to {stop}; the prompt has {len(prompt)} characters."
            )
        spans = self._of_text(prompt).spans
        inside = [at for at, span in enumerate(spans) if span and span[0] < stop and span[1] > start]
        if not inside:
            raise InputError(f"Its position {name!r}, {prompt[start:stop]!r}, is in no token of the prompt.")
        return inside[-1]

    def _of_text(self, prompt: str) -> EncodedText:
        if prompt not in self._encoded:
            (self._encoded[prompt],) = self.tokenizer.encode_batch([prompt], self.bos)
        return self._encoded[prompt]

    def _n_before(self, prompt: Prompt) -> int:
        """How many tokens stand before the prompt's own."""
        if not isinstance(prompt, str) or not is_begun(self.bos):
            return 0
        spans = self._of_text(prompt).spans
        return next((at for at, span in enumerate(spans) if span), 0)


def _reads_last(cfg: TransformerConfig) -> bool:
    return cfg.output == "tokens" or cfg.output_position == "last"


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count} rows have"
