"""A rank that does not find its runner: only what it prints can tell."""

from __future__ import annotations

import os
import socket
import sys

from bench.engine.link import ADDRESS, TOKEN, Link

UNREACHED = "Leave engine.host out, or set it to a name or an address of the runner's machine that others can reach."
UNTOLD = f"Let the launcher pass the environment on, {ADDRESS} and {TOKEN} above all (engine.launch)."
LOST = r"rank \d+ on \S+ (cannot reach its runner|was not told where)[^\n]*"
"""What such a rank prints."""


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
