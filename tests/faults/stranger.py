"""Somebody who knocks at the port of ranks without being one: python -m tests.faults.stranger KIND HOST:PORT SEED"""

import contextlib
import json
import random
import socket
import sys
import time


def speech(kind: str, seed: int) -> bytes:
    """What the stranger says."""
    chance = random.Random(seed)
    hello = {"token": "guessed", "rank": 0, "size": 2, "pid": 1}
    return {
        "random bytes": chance.randbytes(2000) + b"\n" + chance.randbytes(20),
        "half a line": json.dumps(hello).encode()[:-5],
        "a wrong token": json.dumps(hello).encode() + b"\n",
        "a token that is no text": json.dumps({"token": ["\ud800", {"ü": 1e400}]}).encode() + b"\n",
        "no object": b"[[1, 2], 3]\nnull\n",
        "brackets without end": b"[" * 10_000 + b"\n",
        "a line of 10 MB": b"x" * 10_000_000 + b"\n",
        "silence": b"",
    }[kind]


KINDS = (
    "random bytes",
    "half a line",
    "a wrong token",
    "a token that is no text",
    "no object",
    "brackets without end",
    "a line of 10 MB",
    "silence",
)


def knock(kind: str, address: str, seed: int) -> list[socket.socket]:
    """Five connections of this kind, left open."""
    hosts, _, port = address.rpartition(":")
    out = []
    for i in range(5):
        connection = socket.create_connection((hosts.partition(",")[0], int(port)), timeout=5)
        with contextlib.suppress(OSError):  # shown the door
            connection.sendall(speech(kind, seed + i))
        out.append(connection)
    return out


if __name__ == "__main__":
    kept = knock(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    time.sleep(60)
