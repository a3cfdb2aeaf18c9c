"""Messages between the runner and its ranks: JSON lines over a socket, never pickles."""

from __future__ import annotations

import json
import socket
from typing import Any

Message = dict[str, Any]
ADDRESS, TOKEN = "HEARSAY_ADDRESS", "HEARSAY_TOKEN"
"""Environment variables that tell a rank where its runner listens, and how to show that it is one."""


class Link:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a row is on its way before the next step
        self._connection = connection
        self._received = b""

    @classmethod
    def connect(cls, address: str) -> Link:
        """To ``host:port``."""
        host, _, port = address.rpartition(":")
        return cls(socket.create_connection((host, int(port)), timeout=60))

    def fileno(self) -> int:
        return self._connection.fileno()

    def wait_forever(self) -> None:
        self._connection.settimeout(None)

    def send(self, message: Message) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[Message] | None:
        """What has arrived, after waiting for something to; None at the end of the connection."""
        try:
            data = self._connection.recv(1 << 16)
        except OSError:
            return None
        if not data:
            return None
        *lines, self._received = (self._received + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        self._connection.close()
