"""The runner's listening socket: its addresses, and the handshake of ranks that connect."""

from __future__ import annotations

import ipaddress
import os
import secrets
import selectors
import socket
from contextlib import suppress

from bench.base.awake import Awake
from bench.base.errors import shortage
from bench.engine.link import MAX_BYTES, Link, MalformedMessage, Message

LOOPBACK = "127.0.0.1"
AUTO = "auto"
"""Loopback if all ranks start on this machine; else all interfaces, advertised by all names of this machine."""
HANDSHAKE_BYTES = 1 << 14
"""Maximum size of the first message."""
HANDSHAKE_S = 10.0
"""Seconds within which the whole first message must arrive."""
EXTRA_CLIENTS = 64
"""Pending connections allowed beyond one per rank; one more closes the oldest."""


def listening(host: str, backlog: int) -> socket.socket:
    """Return a server socket: at ``host`` if it is an IP address or localhost, else on all interfaces.

    On Debian, for example, a machine resolves its own name to 127.0.1.1, where other machines cannot connect.
    """
    if _is_address(host) or host == "localhost":
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, 0), family=family, backlog=backlog)
    if host != AUTO:
        socket.getaddrinfo(host, None)  # raises OSError for an unknown name
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=backlog)
    return socket.create_server(("", 0), backlog=backlog)


def own_names() -> list[str]:
    """Return the names and addresses of this machine: its SLURM name, its host name, its non-loopback addresses.

    Names come first, since every rank resolves them on its own machine.
    """
    names = [os.environ.get("SLURMD_NODENAME", ""), socket.gethostname()]
    with suppress(OSError):
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        names += [each for each in addresses if not ipaddress.ip_address(each.partition("%")[0]).is_loopback]
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # a reserved address; UDP sends nothing here
        names.append(probe.getsockname()[0])
    return list(dict.fromkeys(filter(None, names)))


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


class Listener:
    """Accepts the connections of ranks; slow, silent or malformed clients never block the others."""

    def __init__(self, host: str, ranks: int) -> None:
        self.token = secrets.token_hex(16)
        self._max_pending = ranks + EXTRA_CLIENTS
        self._server = listening(host, backlog=max(128, self._max_pending))
        self._server.setblocking(False)
        self.port, self.names = self._server.getsockname()[1], own_names() if host == AUTO else [host]
        self.address = f"{','.join(self.names)}:{self.port}"
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)
        self._clock = Awake()
        self._pending: dict[Link, float] = {}  # connections before their handshake, oldest first, with their deadlines

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        for link in list(self._pending):
            self._reject(link)
        self._selector.close()
        self._server.close()

    def arrivals(self, timeout: float) -> list[tuple[Link, Message]]:
        """Wait up to ``timeout`` seconds; return the connections that sent the token, with their first messages."""
        out = []
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._server:
                self._accept()
            elif key.fileobj in self._pending and (hello := self._handshake(key.fileobj)):
                out.append((key.fileobj, hello))
        now = self._clock()
        for link in [link for link, deadline in self._pending.items() if deadline < now]:
            self._reject(link)
        return out

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError as error:
            if shortage(error) and not isinstance(error, BlockingIOError):
                raise
            return  # the client has disconnected
        connection.setblocking(False)
        try:
            link = Link(connection, max_bytes=HANDSHAKE_BYTES)
        except OSError:  # the client has disconnected
            connection.close()
            return
        self._selector.register(link, selectors.EVENT_READ)
        self._pending[link] = self._clock() + HANDSHAKE_S
        if len(self._pending) > self._max_pending:
            self._reject(next(iter(self._pending)))

    def _handshake(self, link: Link) -> Message | None:
        """Return the first message if it is complete and has the token; reject any other client."""
        try:
            messages = link.receive()
        except MalformedMessage:
            messages = None
        if messages == []:
            return None
        token = str(messages[0].get("token")) if messages else ""
        if messages is None or not secrets.compare_digest(token.encode(errors="replace"), self.token.encode()):
            self._reject(link)
            return None
        self._selector.unregister(link)
        del self._pending[link]
        link.max_bytes = MAX_BYTES
        return messages[0]

    def _reject(self, link: Link) -> None:
        self._selector.unregister(link)
        del self._pending[link]
        link.close()
