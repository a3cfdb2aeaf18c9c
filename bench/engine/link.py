"""Messages between the runner and its ranks: JSON lines over a socket, never pickles."""

from __future__ import annotations

import json
import selectors
import socket
import threading
from contextlib import suppress
from typing import Any

Message = dict[str, Any]
ADDRESS, TOKEN = "HEARSAY_ADDRESS", "HEARSAY_TOKEN"
"""Environment variables of a rank: the address of its runner, and the secret that its handshake must contain."""
MAX_BYTES = 1 << 26
"""Maximum size of a message."""
CONNECT_S = 20
"""Seconds that a rank waits for each address of its runner."""
SEND_S = 60
"""Seconds that the runner waits for a rank to accept a message."""
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPALIVE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 35_000}
"""These options detect a lost machine after 35 seconds; not every system has every option."""
WINDOW = 1 << 15
"""Bytes that a rank sends before the runner acknowledges them. They fit into the runner's receive buffer: TCP gives up
after the same 35 seconds if a stopped runner (SIGSTOP) leaves its buffer full."""


class MalformedMessage(Exception):
    """The other end sent bytes that are not a message."""


class Link:
    """One end of a connection; several threads may send."""

    def __init__(self, connection: socket.socket, max_bytes: int = MAX_BYTES) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # send each row before the next step
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._connection, self.max_bytes = connection, max_bytes
        self._received = bytearray()
        self._writing = threading.Condition()
        self._paced = False  # whether the other end acknowledges the bytes it has read
        self._unacknowledged = 0  # bytes sent and not yet acknowledged by the other end
        self._read = 0  # bytes read and not yet acknowledged by this end
        self._marks = self._handled = 0  # marks sent, and the last one that the other end has reached

    @classmethod
    def connect(cls, address: str) -> Link:
        """Connect a rank to the first of ``host,host,…:port`` that answers; raise the last OSError if none does."""
        hosts, _, port = address.rpartition(":")
        last: OSError = ConnectionError(f"invalid address: {address}")
        for host in hosts.split(","):
            try:
                connection = socket.create_connection((host, int(port)), timeout=CONNECT_S)
            except OSError as error:
                last = error
            else:
                link = cls(connection)
                link._paced = True
                return link
        raise last

    def fileno(self) -> int:
        return self._connection.fileno()

    def set_timeout(self, seconds: float | None) -> None:
        """Limit the time of sending and receiving; None: no limit."""
        self._connection.settimeout(seconds)

    def send(self, message: Message) -> None:
        line = json.dumps(message).encode() + b"\n"
        with self._writing:
            self._writing.wait_for(lambda: self._unacknowledged < WINDOW)
            self._unacknowledged += len(line) if self._paced else 0
            self._connection.sendall(line)

    def acknowledge(self) -> None:
        """Tell the other end how many bytes this end has read, once they are a quarter of the window."""
        if self._read >= WINDOW // 4:
            with suppress(OSError):  # the next receive reports the end of the connection
                self.send({"read": self._read})
            self._read = 0

    def acknowledged(self, count: int) -> None:
        """Note that the other end has read ``count`` more bytes."""
        with self._writing:
            self._unacknowledged -= count
            self._writing.notify_all()

    def confirm(self) -> None:
        """Wait until the other end has handled all messages so far."""
        self._marks += 1
        self.send({"mark": self._marks})
        with self._writing:
            self._writing.wait_for(lambda: self._handled == self._marks)

    def handled(self, mark: int) -> None:
        """Note that the other end has handled all messages before a mark."""
        with self._writing:
            self._handled = mark
            self._writing.notify_all()

    def receive(self) -> list[Message] | None:
        """Wait for data and return all complete messages; None at the end of the connection."""
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
        if max(map(len, [*lines, rest])) > self.max_bytes:
            raise MalformedMessage(f"a line of more than {self.max_bytes} bytes")
        return [_parse(line) for line in lines]

    def close(self) -> None:
        with suppress(OSError):  # some systems raise if the other end has closed
            self._connection.close()


class Connections:
    """The runner's connections to all ranks."""

    def __init__(self) -> None:
        self._links: dict[int, Link] = {}
        self._selector = selectors.DefaultSelector()

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, rank: int) -> bool:
        return rank in self._links

    def add(self, rank: int, link: Link) -> None:
        link.set_timeout(SEND_S)
        self._links[rank] = link
        self._selector.register(link, selectors.EVENT_READ, rank)

    def send(self, message: Message) -> list[tuple[int, Message]]:
        """Send to all ranks; return ``{"gone": True}`` for unreachable ones. Their earlier messages may say why."""
        gone: list[tuple[int, Message]] = []
        for rank, link in self._links.items():
            try:
                link.send(message)
            except OSError:
                gone.append((rank, {"gone": True}))
        return gone

    def handled(self, rank: int, mark: int) -> None:
        """Tell a rank that all messages before its mark are handled."""
        with suppress(KeyError, OSError):  # the rank is gone, which the next receive reports
            self._links[rank].send({"handled": mark})

    def receive(self, timeout: float) -> list[tuple[int, Message]]:
        """Wait up to ``timeout`` seconds for messages; ``{"gone": True}`` marks the end of a connection."""
        out: list[tuple[int, Message]] = []
        for key, _ in self._selector.select(timeout):
            rank, link = key.data, self._links[key.data]
            try:
                messages = link.receive()
                link.acknowledge()
            except MalformedMessage as error:
                messages = [{"error": f"malformed message to the runner: {error}.", "traceback": ""}]
            if messages is None:
                self._selector.unregister(link)
                self._links.pop(rank).close()
                messages = [{"gone": True}]
            out += [(rank, message) for message in messages]
        return out

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._selector.close()


def _parse(line: bytearray) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise MalformedMessage(repr(line[:40].decode(errors="replace")))
    return message
