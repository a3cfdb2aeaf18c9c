"""Files of a results folder, which may be somebody else's: only regular files are opened, and no link is followed.

<results> itself may be a link, as of a scratch disk; nothing inside it may. What is no regular file, as a FIFO or a
device, is answered with an OSError at once: nothing waits for it, and nothing is read without an end.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path

LINK = "it is a link, and inside a results folder links are not followed: only that folder itself may be one"
NOT_REGULAR = "it is not a regular file"
SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CHUNK, TEXT, TABLE = 1 << 24, 1 << 28, 1 << 30
"""Bytes that are read by one call, and those that a text and a table may have: more than any of hearsay's."""


def opened(path: Path | str, flags: int = os.O_RDONLY) -> tuple[int, int]:
    """A descriptor of a regular file, and its size in bytes."""
    try:
        descriptor = os.open(path, flags | SAFE, 0o666)
    except OSError as error:
        reason = {errno.ELOOP: LINK, errno.ENXIO: NOT_REGULAR}.get(error.errno or 0)
        if reason is None:
            raise
        raise OSError(error.errno, reason, str(path)) from error
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    return descriptor, state.st_size


def content_of(path: Path | str, most: int = TEXT) -> bytes:
    """All of a file, by as few calls of the system as possible: 100000 may be read."""
    descriptor, size = opened(path)
    try:
        if size > most:
            reason = f"it has {size / 1e9:.3g} GB, and at most {most / 1e9:.3g} GB are read"
            raise OSError(errno.EFBIG, reason, str(path))
        content = os.read(descriptor, size + 1) if size < CHUNK else b""
        if len(content) != size or os.fstat(descriptor).st_size != size:  # it grows, is large, or sshfs had given the
            # size of an earlier file of this name, which it corrects once the file has been read
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                content += file.readall()
        return content
    finally:
        os.close(descriptor)


def end_of(path: Path, most: int) -> str:
    """The last bytes of a log as text, whatever they are."""
    descriptor, size = opened(path)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        file.seek(max(0, size - most))
        return file.read(most).decode(errors="replace")


def append(path: Path, text: str) -> None:
    """Write at the end of a file, which may not be there yet."""
    descriptor, _ = opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


def write_bytes(path: Path, content: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace ``path``, be it a link or not, in one move: a reader sees the old content or the new, never a part.

    ``check`` is called at the last moment. It may raise, and then nothing is replaced.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        try:
            descriptor, _ = opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:  # of a process that had this number and was killed
            draft.unlink()
            descriptor, _ = opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(content)
        check()
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def no_link(folder: Path) -> Path:
    """The folder itself; an OSError where it is a link."""
    if folder.is_symlink():
        raise OSError(errno.ELOOP, LINK, str(folder))
    return folder


def make_folder(folder: Path, parents: bool = False) -> Path:
    """A folder that is there from now on, and is no link."""
    no_link(folder).mkdir(parents=parents, exist_ok=True)
    return folder


def remove(path: Path) -> None:
    """Delete a file, a folder, or a link, not what it points to; what cannot be deleted stays."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


def run_names(results: Path) -> list[str]:
    """The names in <results>/runs that may be runs, links among them; none has characters that cannot be printed."""
    with os.scandir(no_link(results / "runs")) as entries:
        return sorted(e.name for e in entries if e.name.isprintable() and (e.is_symlink() or e.is_dir()))
