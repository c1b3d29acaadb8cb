"""The standard library as a corpus: split by file, the same for a seed."""

import ast
from itertools import islice

import pytest

from headlight.recipes import corpus, library


def test_held_out_files_are_apart_and_about_four_percent() -> None:
    trained, held_out = library.training_files(), library.held_out_files()
    assert not trained.keys() & held_out.keys()
    assert 0.02 < len(held_out) / (len(trained) + len(held_out)) < 0.07  # 4% of 450 files: 18 +- 4


def test_tests_tables_and_installed_packages_are_left_out() -> None:
    names = [*library.training_files(), *library.held_out_files()]
    folders = {part for name in names for part in name.split("/")[:-1]}
    assert not folders & {"site-packages", "test", "tests", "idlelib", "encodings", "ensurepip"}
    assert {"ast.py", "json/decoder.py", "queue.py"} <= set(names)


def test_which_file_is_held_out_never_changes() -> None:
    assert library.is_held_out("queue.py")
    assert not library.is_held_out("ast.py")


def test_chunks_are_whole_lines_and_together_the_text() -> None:
    text = library.training_files()["ast.py"]
    pieces = list(library.chunks(text, 500))
    assert "".join(pieces) == text
    assert all(piece.endswith("\n") and len(piece) >= 500 for piece in pieces[:-1])


def test_docstrings_are_those_that_python_shows() -> None:
    import queue

    docstrings = library.docstrings(library.held_out_files()["queue.py"])
    assert ast.get_docstring(ast.parse(f'"""{queue.Queue.put.__doc__}"""')) in docstrings
    assert all(len(docstring) >= library.MIN_DOCSTRING_LENGTH for docstring in docstrings)
    assert library.docstrings("print 'Python 2'") == []


def test_the_stream_is_the_same_for_a_seed() -> None:
    first, again, other = (list(islice(corpus.documents(seed), 500)) for seed in (0, 0, 1))
    assert first == again != other


def test_the_grammar_has_its_share() -> None:
    chunks = set(library.training_chunks())
    length = {"grammar": 0.0, "library": 0.0}
    for document in islice(corpus.documents(0), 20_000):
        source = "library" if document in chunks else "grammar"
        length[source] += len(document) / corpus.CHARACTERS_PER_TOKEN[source]
    # The last document of 20,000 is all that the balance can be off by.
    assert length["grammar"] / sum(length.values()) == pytest.approx(0.3, abs=0.01)


def test_one_pass_reads_every_chunk_once() -> None:
    chunks = library.training_chunks()
    assert sorted(islice(corpus.library_documents(3), len(chunks))) == sorted(chunks)
