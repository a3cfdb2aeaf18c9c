"""Where a runner listens, and under which names ranks on other machines look for it."""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import suppress

LOOPBACK = "127.0.0.1"
AUTO = "auto"
"""Loopback where all ranks are started on this machine; else every interface, and what this machine is called."""


def listening(host: str, backlog: int) -> socket.socket:
    """A server at an address of this machine; a name only says how others call it, so that all interfaces are heard.

    Debian, for one, lets a machine's own name mean 127.0.1.1 on the machine itself.
    """
    if _is_address(host) or host == "localhost":
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, 0), family=family, backlog=backlog)
    if host != AUTO:
        socket.getaddrinfo(host, None)  # an error where nobody is called that
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=backlog)
    return socket.create_server(("", 0), backlog=backlog)


def advertised(host: str) -> list[str]:
    """What ranks are to try, one after another."""
    return own_names() if host == AUTO else [host]


def own_names() -> list[str]:
    """What others may call this machine: its name in a SLURM job, its own, and its addresses as far as they are known.

    Names come first, since ranks ask their own machine what they mean.
    """
    name = socket.gethostname()
    names = [os.environ.get("SLURMD_NODENAME", ""), name, *_meant_by(name), *_on_the_way_out()]
    return list(dict.fromkeys(filter(None, names)))


def connect(address: str, patience: float) -> socket.socket:
    """To the first of ``host,host,…:port`` that answers; the last error where none does."""
    hosts, _, port = address.rpartition(":")
    error: OSError = ConnectionError(f"{address} is no address")
    for host in hosts.split(","):
        try:
            return socket.create_connection((host, int(port)), timeout=patience)
        except OSError as problem:
            error = problem
    raise error


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


def _meant_by(name: str) -> list[str]:
    """The addresses that this machine knows for a name, less those that mean something else on every machine."""
    with suppress(OSError):
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
        return [address for address in found if not ipaddress.ip_address(address.partition("%")[0]).is_loopback]
    return []


def _on_the_way_out() -> list[str]:
    """The address that packets for elsewhere bear; nothing is sent to find it."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect(("192.0.2.1", 9))  # an address that is nobody's
        return [way.getsockname()[0]]
    return []
