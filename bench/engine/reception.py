"""Where ranks report when they start: a port that anybody who can reach it may knock at; only ranks come through."""

from __future__ import annotations

import secrets
import selectors

from bench.base.awake import Awake
from bench.base.errors import shortage
from bench.engine.addresses import advertised, listening
from bench.engine.link import LONGEST, Garbled, Link, Message

HELLO = 1 << 14
"""Bytes of a first message at most,"""
HELLO_S = 10.0
"""and seconds that it may take to arrive whole."""
STRANGERS = 64
"""Connections without a word beyond one per rank; one more, and the oldest has to go."""


class Reception:
    """Accepts connections until every rank is there; slow, silent or malformed clients never block the others."""

    def __init__(self, host: str, ranks: int) -> None:
        self.token = secrets.token_hex(16)
        self._most = ranks + STRANGERS
        self._server = listening(host, backlog=max(128, self._most))
        self._server.setblocking(False)
        self.port, self.names = self._server.getsockname()[1], advertised(host)
        self.address = f"{','.join(self.names)}:{self.port}"
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)
        self._clock = Awake()
        self._silent: dict[Link, float] = {}  # and when their time is over, the oldest first

    def __enter__(self) -> Reception:
        return self

    def __exit__(self, *_: object) -> None:
        for link in list(self._silent):
            self._refuse(link)
        self._selector.close()
        self._server.close()

    def arrivals(self, patience: float) -> list[tuple[Link, Message]]:
        """Who has shown the token within ``patience`` seconds, and what else they said."""
        out = []
        for key, _ in self._selector.select(patience):
            if key.fileobj is self._server:
                self._accept()
            elif key.fileobj in self._silent and (hello := self._hear(key.fileobj)):
                out.append((key.fileobj, hello))
        now = self._clock()
        for link in [link for link, over in self._silent.items() if over < now]:
            self._refuse(link)
        return out

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if shortage(error):
                raise
            return  # gone again
        connection.setblocking(False)
        try:
            link = Link(connection, longest=HELLO)
        except OSError:  # gone again
            connection.close()
            return
        self._selector.register(link, selectors.EVENT_READ)
        self._silent[link] = self._clock() + HELLO_S
        if len(self._silent) > self._most:
            self._refuse(next(iter(self._silent)))

    def _hear(self, link: Link) -> Message | None:
        """The first message, if it is whole and shows the token; whoever says anything else has to go."""
        try:
            messages = link.receive()
        except Garbled:
            messages = None
        if messages == []:
            return None
        shown = str(messages[0].get("token")) if messages else ""
        if messages is None or not secrets.compare_digest(shown.encode(errors="replace"), self.token.encode()):
            self._refuse(link)
            return None
        self._selector.unregister(link)
        del self._silent[link]
        link.longest = LONGEST
        return messages[0]

    def _refuse(self, link: Link) -> None:
        self._selector.unregister(link)
        del self._silent[link]
        link.close()
