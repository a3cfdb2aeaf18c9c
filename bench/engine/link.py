"""Messages between the runner and its ranks: JSON lines over a socket, never pickles."""

from __future__ import annotations

import json
import selectors
import socket
import threading
from contextlib import suppress
from typing import Any

from bench.engine.addresses import connect

Message = dict[str, Any]
ADDRESS, TOKEN = "HEARSAY_ADDRESS", "HEARSAY_TOKEN"
"""Environment variables that tell a rank where its runner listens, and how to show that it is one."""
LONGEST = 1 << 26
"""Bytes of a message at most."""
CONNECT_S = 20
"""Seconds that a rank waits for its runner to answer, under each of its names."""
SEND_S = 60
"""Seconds in which a rank must have taken a message."""
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPALIVE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 35_000}
"""A machine that is lost or cut off is noticed after 35 seconds; not every system has every option."""
AHEAD = 1 << 15
"""Bytes that a rank sends before the runner confirms that it has read them. They fit into the runner's receive buffer:
TCP gives up after the same 35 seconds if a runner that is stopped (SIGSTOP) leaves its buffer full."""


class Garbled(Exception):
    """What arrived is not a message."""


class Link:
    """One end of a connection, to which several threads may write."""

    def __init__(self, connection: socket.socket, longest: int = LONGEST) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a row is on its way before the next step
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._connection, self.longest = connection, longest
        self._received = bytearray()
        self._writing = threading.Condition()
        self._paced = False  # whether the other end confirms what it has read
        self._ahead = 0  # bytes sent that it has not confirmed
        self._read = 0  # bytes read that this end has not confirmed

    @classmethod
    def connect(cls, address: str) -> Link:
        """A rank's end: to ``host:port``, or the first of several hosts that answers."""
        link = cls(connect(address, CONNECT_S))
        link._paced = True
        return link

    def fileno(self) -> int:
        return self._connection.fileno()

    def patience(self, seconds: float | None) -> None:
        """How long sending and receiving may take; None: for ever."""
        self._connection.settimeout(seconds)

    def send(self, message: Message) -> None:
        line = json.dumps(message).encode() + b"\n"
        with self._writing:
            self._writing.wait_for(lambda: self._ahead < AHEAD)
            self._ahead += len(line) if self._paced else 0
            self._connection.sendall(line)

    def confirm(self) -> None:
        """Tell the other end from time to time how much has been read."""
        if self._read >= AHEAD // 4:
            _sent(self, {"read": self._read})
            self._read = 0

    def confirmed(self, count: int) -> None:
        """The other end has read so many bytes more."""
        with self._writing:
            self._ahead -= count
            self._writing.notify_all()

    def receive(self) -> list[Message] | None:
        """What has arrived whole, after waiting for something to; None at the end of the connection."""
        try:
            data = self._connection.recv(1 << 16)
        except (BlockingIOError, TimeoutError):
            return []
        except OSError:
            return None
        if not data:
            return None
        self._read += len(data)
        self._received += data
        *lines, rest = self._received.split(b"\n") if b"\n" in data else [self._received]
        self._received = rest
        if max(map(len, [*lines, rest])) > self.longest:
            raise Garbled(f"a line of more than {self.longest} bytes")
        return [_message(line) for line in lines]

    def close(self) -> None:
        with suppress(OSError):  # the other end may be gone
            self._connection.close()


class Connections:
    """The connections to all ranks."""

    def __init__(self) -> None:
        self._links: dict[int, Link] = {}
        self._selector = selectors.DefaultSelector()

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, rank: int) -> bool:
        return rank in self._links

    def add(self, rank: int, link: Link) -> None:
        link.patience(SEND_S)
        self._links[rank] = link
        self._selector.register(link, selectors.EVENT_READ, rank)

    def send(self, message: Message) -> list[tuple[int, Message]]:
        """To all; «gone» stands for a rank that cannot be told anything any more, but may have said why."""
        return [(rank, {"gone": True}) for rank, link in self._links.items() if not _sent(link, message)]

    def receive(self, patience: float) -> list[tuple[int, Message]]:
        """What ranks have said within ``patience`` seconds; «gone» stands for the end of a connection."""
        out: list[tuple[int, Message]] = []
        for key, _ in self._selector.select(patience):
            rank = key.data
            try:
                messages = self._links[rank].receive()
                self._links[rank].confirm()
            except Garbled as error:
                messages = [{"error": f"the runner was sent {error}.", "traceback": ""}]
            out += [self._gone(rank)] if messages is None else [(rank, message) for message in messages]
        return out

    def _gone(self, rank: int) -> tuple[int, Message]:
        self._selector.unregister(self._links[rank])
        self._links.pop(rank).close()
        return rank, {"gone": True}

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._selector.close()


def _sent(link: Link, message: Message) -> bool:
    try:
        link.send(message)
        return True
    except OSError:
        return False


def _message(line: bytearray) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Garbled(f"'{line[:40].decode(errors='replace')}', which is no message")
    return message
