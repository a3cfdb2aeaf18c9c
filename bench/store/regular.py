"""Open files of a results folder that others may have made: only regular files, and no symbolic links.

<results> itself may be a link, for example to a scratch disk; nothing inside it may. A FIFO or a device raises an
OSError at once, so that no reader waits for it or reads it without end.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.store.disk import wait_for

LINK = "it is a link, and inside a results folder links are not followed; only that folder itself may be a link"
NOT_REGULAR = "it is not a regular file"
SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CHUNK, TEXT, TABLE = 1 << 24, 1 << 28, 1 << 30
"""Bytes read by one call, and the maximal sizes of a text and of a table in bytes."""


def opened(path: Path | str, flags: int = os.O_RDONLY) -> tuple[int, int]:
    """Open a regular file; returns its descriptor and its size in bytes."""
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
    """Return all of a file, with few system calls, since there may be 100000 files."""
    descriptor, size = opened(path)
    try:
        if size > most:
            reason = f"it has {size / 1e9:.3g} GB; the limit is {most / 1e9:.3g} GB"
            raise OSError(errno.EFBIG, reason, str(path))
        content = os.read(descriptor, size + 1) if size < CHUNK else b""
        # the file grows, is large, or sshfs reported the size of an earlier file of this name until the first read
        if len(content) != size or os.fstat(descriptor).st_size != size:
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                content += file.readall()
        return content
    finally:
        os.close(descriptor)


def is_missing(path: Path) -> bool:
    """Whether there is nothing under this path; False if it cannot be known."""
    try:
        os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


def is_regular(path: Path) -> bool:
    """Whether the path is a regular file, not a link to one."""
    return stat.S_ISREG(path.lstat().st_mode)


def end_of(path: Path, most: int) -> str:
    """Return the last bytes of a log as text."""
    descriptor, size = opened(path)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        file.seek(max(0, size - most))
        return file.read(most).decode(errors="replace")


def append(path: Path, text: str) -> None:
    """Append to a file, which is created if it is missing."""
    descriptor, _ = opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


def write_bytes(path: Path, content: bytes, check: Callable[[], None] = lambda: None, *, lasting: bool = False) -> None:
    """Replace a file, or a link, atomically. ``check`` is called last; if it raises, nothing is replaced."""
    write_together({path: content}, check, lasting=lasting)


def write_together(
    contents: Mapping[Path, bytes], check: Callable[[], None] = lambda: None, *, lasting: bool = False
) -> None:
    """Replace several files, in this order, once all of them are written beside the old ones.

    An error before the first replacement leaves all old files. After a later one, the other files are replaced too;
    what cannot be replaced stays beside the old file as ``.NAME.*``.
    ``lasting``: first sync the new files to disk, and at the end the names in their folders.
    """
    drafts: dict[Path, Path] = {}
    checked = False
    try:
        for path, content in contents.items():
            drafts[path] = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
            _create(drafts[path], content, path, lasting)
        check()
        checked = True
        for path, draft in drafts.items():
            with _naming(path):
                draft.replace(path)
    except BaseException:
        begun = checked and not next(iter(drafts.values())).exists()
        for path, draft in drafts.items():
            if begun:  # the old files do not belong to the new ones
                with suppress(OSError):
                    draft.replace(path)
            else:
                draft.unlink(missing_ok=True)
        raise
    for folder in {path.parent for path in drafts} if lasting else ():
        with _naming(folder):
            wait_for(folder)


def _create(draft: Path, content: bytes, path: Path, lasting: bool) -> None:
    """Write the draft of a file; errors name the file."""
    try:
        descriptor, _ = opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:  # left by a killed process with the same id
        draft.unlink()
        descriptor, _ = opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with _naming(path), open(descriptor, "wb") as file:  # noqa: PTH123
        file.write(content)
        if lasting:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors name the file: a full disk raises one without a name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def no_link(folder: Path) -> Path:
    """Return the folder; OSError if it is a link."""
    if folder.is_symlink():
        raise OSError(errno.ELOOP, LINK, str(folder))
    return folder


def make_folder(folder: Path, parents: bool = False) -> Path:
    """Create a folder if it is missing; OSError if it is a link."""
    no_link(folder).mkdir(parents=parents, exist_ok=True)
    return folder


def remove(path: Path) -> None:
    """Delete a file, a folder, or a link but not its target; files of a folder that cannot be deleted stay."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        with suppress(RecursionError):  # of a folder with a thousand levels, which stays
            shutil.rmtree(path, ignore_errors=True)


def run_names(results: Path) -> list[str]:
    """Return the printable names of the folders and links in <results>/runs."""
    with os.scandir(no_link(results / "runs")) as entries:
        return sorted(e.name for e in entries if e.name.isprintable() and (e.is_symlink() or e.is_dir()))
