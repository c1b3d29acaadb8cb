"""The column of a table that holds the documents."""

from headlight.model.errors import InputError, nearest


def check_column(name: str, column: str, columns: list[str]) -> None:
    """Refuse a table that has no such column.

    Raises:
        InputError: it says which there are.
    """
    if column not in columns:
        raise InputError(
            f"{name} has no column {column!r}.{nearest(column, columns)} Its columns are {', '.join(columns)}: name "
            "the one with the text by --column."
        )


def text_of(value: object) -> tuple[str | None, str]:
    """A table's cell as a document's text, or why it is none."""
    if not isinstance(value, str):
        return None, "it holds no text" if value is None else f"it holds {type(value).__name__} in place of text"
    try:
        value.encode()
    except UnicodeEncodeError:
        return None, "it is not UTF-8"
    return value, ""
