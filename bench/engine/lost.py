"""Ranks that do not come, or do not find their runner: only what was printed can tell why."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

from bench.engine.link import ADDRESS, TOKEN, Link

UNREACHED = "Leave engine.host out, or set it to a name or an address of the runner's machine that others can reach."
UNTOLD = f"Let the launcher pass the environment on, {ADDRESS} and {TOKEN} above all (engine.launch)."
LOST = re.compile(r"rank \d+ on \S+ (?:cannot reach its runner|was not told where) .*")
"""What such a rank prints;"""
FOLDER = re.compile(r"@(\S+)\] .*: unable to change wdir to (.*) \(")
"""what MPICH prints on a machine that lacks a folder;"""
SSH = re.compile(r"^ssh: .*|^.*(?:Permission denied \(|Host key verification failed).*", re.MULTILINE)
"""what ssh does;"""
CLOSED = "assert (!closed) failed"
"""and what may be all that MPICH prints when a machine could not begin."""


def reason(printed: str) -> str | None:
    """Why ranks could not report, as far as it is known."""
    if found := LOST.search(printed):
        return found[0]
    if found := FOLDER.search(printed):
        return f"{found[1]} lacks the folder {found[2]}: start the command in one that all machines have."
    if found := SSH.search(printed):
        return f"a machine cannot be reached by ssh: {found[0].strip()}"
    if CLOSED in printed:
        folder = f"the folder {Path.cwd()}, where the command was started"
        return f"a machine was lost before its ranks had started. Do all machines have {folder}, and this environment?"
    return None


def connected(rank: int) -> Link:
    """To the runner; the end of this rank, with a sentence, where there is no way to it."""
    if not (address := os.environ.get(ADDRESS)):
        sys.exit(f"rank {rank} on {socket.gethostname()} was not told where its runner is. {UNTOLD}")
    try:
        return Link.connect(address)
    except OSError as error:
        hosts, _, port = address.rpartition(":")
        names = hosts.replace(",", " or ")
        sys.exit(
            f"rank {rank} on {socket.gethostname()} cannot reach its runner at {names}, port {port} "
            f"({error.strerror or error}). {UNREACHED}"
        )
