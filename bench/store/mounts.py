"""How a results folder is mounted, and what hosts that share it would not see of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ALONE = {
    "nfs": {"nolock", "local_lock=all", "local_lock=flock"},
    "nfs4": {"local_lock=all", "local_lock=flock"},
    "lustre": {"localflock"},
    "cifs": {"nobrl"},
    "smb3": {"nobrl"},
    **{kind: {""} for kind in ("beegfs", "fuse.gcsfuse", "fuse.rclone", "fuse.s3fs", "fuse.sshfs")},
}
"""By file system, the mount options with which locks exclude only processes of the same machine; "": with any option.
BeeGFS shares locks only if its own settings say so; the others have none."""
LONGEST_S = 20.0
"""The longest time for which sshfs may show an old state: its default for the attributes of files."""
LIFETIMES = re.compile(r"(?:ac_attr|attr|entry|negative|d?cache|d?cache_(?:stat|dir|link))_timeout")
"""The options of sshfs that state such a time in seconds."""


class Mount(NamedTuple):
    """A mounted file system."""

    point: Path
    kind: str
    options: frozenset[str]


def mount_of(place: Path, mountinfo: str) -> Mount:
    """Return the file system of a path; OSError if none is known."""
    mounts = {}
    for line in filter(None, mountinfo.split("\n")):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)  # the source may be empty, and contain any other character
        point, how = before.split(" ")[4:6]
        point = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), point)
        mounts[Path(point)] = Mount(Path(point), kind, frozenset([*options.split(","), *how.split(",")]))
    for parent in (place, *place.parents):
        if parent in mounts:
            return mounts[parent]
    raise FileNotFoundError(f"{place} is on no file system of /proc/self/mountinfo")


def mounted_alone(place: Path, mountinfo: str) -> str | None:
    """Return why locks in this folder exclude only processes of this machine; None if they may exclude all."""
    mount = mount_of(place, mountinfo)
    hindering = ALONE.get(mount.kind, set()) & {*mount.options, ""}
    how = f"is mounted with {min(hindering)}" if any(hindering) else "has locks for one machine only"
    return f"{mount.kind} {how}" if hindering else None


def hidden_changes(point: Path, command: Sequence[str]) -> str | None:
    """Return the option with which this command, if it is sshfs for this mount point, hides changes of other hosts.

    The list of mounts does not have these options.
    """
    if Path(command[0]).name != "sshfs" or str(point) not in command[1:]:
        return None
    words = [word for i, word in enumerate(command) if word.startswith("-o") or command[i - 1] == "-o"]
    for option in (option for word in words for option in word.removeprefix("-o").split(",")):
        name, _, value = option.partition("=")
        lasts = re.fullmatch(r"[0-9.]+", value) and LIFETIMES.fullmatch(name) and float(value) > LONGEST_S
        if lasts or name == "kernel_cache":
            return f"sshfs has the option {option}, which hides changes of other hosts"
    return None
