"""A user's csv of texts and labels: what is read, what is refused, what is held out; and what words alone tell."""

import random
from collections import Counter
from pathlib import Path

import pytest

from headlight.model.base.errors import TrainingError
from headlight.model.training.bag_of_words import bag_of_words_accuracy, majority_accuracy
from headlight.model.training.labelled import read_labelled, split


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "reviews.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_texts_and_labels_come_from_the_columns_that_are_named(tmp_path: Path) -> None:
    """Among others, quoted, of several lines, and each once, as a spreadsheet writes it."""
    content = (
        '\ufeffid,Review,stars\r\n1,"Good, very good",5\r\n2,"Two\nlines",1\r\n3,Bad ,1\r\n4,"Good, very good",5\r\n'
        "5,Süß,5\r\n"
    )
    expected = [("Good, very good", "5"), ("Two\nlines", "1"), ("Bad", "1"), ("Süß", "5")]
    assert read_labelled(written(tmp_path, content), "Review", "stars") == expected


def test_other_delimiters_rows_of_empty_cells_and_long_texts_are_read(tmp_path: Path) -> None:
    long = "a" * 200_000  # longer than the csv module's own limit of a field
    for mark in ",;\t":
        content = f"Text{mark}label\r\n{mark}\r\n{long}{mark}x\r\nb{mark}y\r\n"
        with pytest.raises(TrainingError, match="only one text labelled"):
            read_labelled(written(tmp_path, content))
        rows = content + f"c{mark}x\r\nd{mark}y\r\n"
        assert read_labelled(written(tmp_path, rows)) == [(long, "x"), ("b", "y"), ("c", "x"), ("d", "y")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,lable\na,x\n", r"has no column 'label'\. Nearest: lable\. Its columns are text, lable\. Name yours by"),
        ("", r"has no column 'text'\. Its columns are none: it is empty"),
        ("text,label\n", r"reviews\.csv has no texts\. To tell classes apart"),
        ("text,label\na,x\nb,x\n", r"has one label, 'x'\. To tell classes apart, there have to be texts of at least"),
        ("text,label\na,x\nb,x\nc,y\n", r"has only one text labelled 'y'\. Each label needs two or more"),
        ("text,label\na,x\n ,y\n", r"line 3 has no text\. Write one, or remove the line"),
        ("text,label\na,x\nb\n", r"Line 3 has 1 fields, the header has 2"),
        ("text,label\na,x\nOne, two,y\n", r"Line 3 has 3 fields, the header has 2.*in double quotes"),
        ("text,label\na,\nb,y\n", r"line 2 has no label"),
        ("text,label\na,x\nb,y\na,y\n", r"line 4 has the text of line 2, as 'y' here and 'x' there\. Remove one"),
        (b"text,label\na,\xff\n", r"reviews\.csv: Line 2 is not UTF-8.*byte 0xFF.*Save it as UTF-8"),
        ("text,label\na,x\n".encode("utf-16"), r"reviews\.csv: The file looks like UTF-16"),
        (
            'text,label\n"a,x\nb,y\n',
            r"reviews\.csv: Line 2: a double quote .* is never closed",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=message):
        read_labelled(written(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"nothing\.csv cannot be read \(No such file or directory\)"):
        read_labelled(tmp_path / "nothing.csv")


def test_a_tenth_of_each_label_is_held_out() -> None:
    examples = [(str(number), "rare" if number < 2 else "often") for number in range(102)]
    train, held_out = split(examples, seed=0)
    assert Counter(label for _, label in held_out) == {"rare": 1, "often": 10}
    assert sorted(train + held_out) == sorted(examples)
    assert split(examples, seed=0) == (train, held_out) != split(examples, seed=1)


def test_words_alone_tell_what_words_can_tell_and_no_more() -> None:
    """The same texts under a label that one of the words decides, and under one that their order decides."""
    rng = random.Random(0)
    rows = [rng.sample("abcdef", 3) for _ in range(400)]
    by_word = [(" ".join(row), "yes" if "a" in row else "no") for row in rows]
    by_order = [(" ".join(row), "yes" if row[0] < row[-1] else "no") for row in rows]
    assert bag_of_words_accuracy(by_word[:300], by_word[300:]) == 1
    # Of 100 coins, between three standard deviations of 5 each.
    assert 0.35 < bag_of_words_accuracy(by_order[:300], by_order[300:]) < 0.65


def test_the_words_of_three_classes_and_of_unknown_texts() -> None:
    train = [("red rose", "a"), ("red", "a"), ("blue sea", "b"), ("blue", "b"), ("green grass", "c"), ("green", "c")]
    assert bag_of_words_accuracy(train, [("RED sky!", "a"), ("blue rain", "b"), ("green tea", "c")]) == 1


def test_the_majority_is_that_of_training() -> None:
    train = [("1", "x"), ("2", "x"), ("3", "y")]
    assert majority_accuracy(train, [("4", "x"), ("5", "y"), ("6", "y"), ("7", "y")]) == 0.25
