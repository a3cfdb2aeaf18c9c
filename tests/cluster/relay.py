"""A relay between simulated machines, in place of their switch: it delays every frame and limits the rate of senders.

It runs in the network namespace of the switch and copies Ethernet frames between packet sockets, so that neither
netem nor other modules of the kernel are needed. With PACKET_VNET_HDR, frames carry their offloaded segmentation and
checksums, so that a frame of 64 kB is copied in one piece.

    python relay.py FILE h1 h2 h3

FILE holds latency_ms and rate_mbps, and may change at any time. A sender's frames leave one after another at its rate
(a shared uplink) and arrive one latency later.
"""

from __future__ import annotations

import heapq
import os
import select
import socket
import struct
import sys
import time
from itertools import count
from pathlib import Path

SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC, PACKET_VNET_HDR, PACKET_OUTGOING = 263, 1, 1, 15, 4
ETH_P_ALL, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 3, 32, 33
HEADER = 10
"""Bytes of struct virtio_net_hdr before a frame."""
OVERHEAD = 14
"""Bytes of an Ethernet header."""
REREAD_S = 0.05
SPIN_S = 0.0005
"""The relay polls without sleeping when a frame is due this soon: sleeping is less exact."""


def opened(name: str) -> socket.socket:
    """Return a socket for all frames that a machine sends or receives on this end of its cable."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    out.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    for force in (SO_RCVBUFFORCE, SO_SNDBUFFORCE):  # a frame that does not fit would be lost
        out.setsockopt(socket.SOL_SOCKET, force, 1 << 25)
    out.bind((name, ETH_P_ALL))
    member = struct.pack("iHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
    out.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, member)
    out.setblocking(False)
    return out


class Setting:
    """Latency and rate, read from a file whenever it is a while ago."""

    def __init__(self, file: Path) -> None:
        self._file, self._next = file, 0.0
        self.latency_s = self.bit_s = 0.0

    def read(self) -> None:
        if time.monotonic() > self._next and len(words := self._file.read_text().split()) == 2:
            self.latency_s, self.bit_s = float(words[0]) / 1000, 1e-6 / float(words[1])
            self._next = time.monotonic() + REREAD_S


def relay(setting: Setting, names: list[str]) -> None:
    """Copy frames between the cables of the machines, forever."""
    cables = {name: opened(name) for name in names}
    place: dict[bytes, str] = {}  # where each hardware address was seen
    free = dict.fromkeys(names, 0.0)
    due: list[tuple[float, int, str, bytes]] = []
    number = count()
    poll = select.poll()
    by_file = {}
    for name, cable in cables.items():
        poll.register(cable, select.POLLIN)
        by_file[cable.fileno()] = name
    while True:
        setting.read()
        wait = due[0][0] - time.monotonic() - SPIN_S if due else REREAD_S
        for file, _ in poll.poll(max(0.0, 1000 * wait)):
            name = by_file[file]
            for _ in range(64):
                try:
                    frame, address = cables[name].recvfrom(1 << 17)
                except BlockingIOError:
                    break
                if address[2] == PACKET_OUTGOING:
                    continue
                now = time.monotonic()
                target, source = frame[HEADER : HEADER + 6], frame[HEADER + 6 : HEADER + 12]
                place[source] = name
                free[name] = max(free[name], now) + 8 * (len(frame) - HEADER - OVERHEAD) * setting.bit_s
                to = [place[target]] if target in place else [other for other in names if other != name]
                for other in to:
                    heapq.heappush(due, (free[name] + setting.latency_s, next(number), other, frame))
        while due and due[0][0] <= time.monotonic():
            _, _, name, frame = heapq.heappop(due)
            try:
                cables[name].send(frame)
            except OSError as error:  # a cable without a machine
                print(f"{name}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # other programs must not delay frames
    relay(Setting(Path(sys.argv[1])), sys.argv[2:])
