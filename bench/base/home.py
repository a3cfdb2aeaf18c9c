"""The folder of the suite, and home directories."""

from pathlib import Path

from bench.base.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
"""The folder with bench/, conf/, algorithms/ and the rest."""


def expanded(path: Path | str) -> Path:
    """Return a path with the home directory in place of ~; raise ``UserError`` if there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UserError(
            f"The path '{path}' begins with a home directory that does not exist. Type the whole path of the file or "
            "folder."
        ) from None
