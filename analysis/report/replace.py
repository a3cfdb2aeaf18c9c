"""Which files of a user a command may replace."""

from pathlib import Path

from bench.base.errors import UserError


def must_be_ours(path: Path, first: str, option: str) -> None:
    """Raise a UserError if a file exists, is not empty and does not begin with the line that ours begin with.

    ``option``: what to type to write elsewhere.
    """
    if not path.exists():
        return
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(first.encode())) in (b"", first.encode()):
                return
    raise UserError(f"'{path}' was not written by this command and would be lost. Rename it, or type {option}.")
