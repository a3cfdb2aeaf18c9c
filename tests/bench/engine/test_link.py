"""Messages between runner and ranks arrive whole, or not at all."""

import fcntl
import resource
import socket
import threading
from contextlib import closing

import pytest

from bench.engine.link import Garbled, Link, Links


@pytest.fixture
def pair():
    """Both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    with closing(Link(one)) as left, closing(Link(other)) as right:
        left.raw, right.raw = one, other
        yield left, right


def test_two_threads_write_whole_messages(pair):
    left, right = pair
    texts = ["a" * 300_000, "b" * 300_000]

    def speak(text: str) -> None:
        for _ in range(20):
            left.send({"text": text})

    threads = [threading.Thread(target=speak, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    heard = []
    while len(heard) < 40:
        heard += [message["text"] for message in right.receive()]
    for thread in threads:
        thread.join()
    assert sorted(heard) == sorted(20 * texts)


def test_half_a_line_is_kept_for_later(pair):
    left, right = pair
    left.raw.sendall(b'{"a": 1}\n{"b"')
    assert right.receive() == [{"a": 1}]
    left.raw.sendall(b": 2}\n")
    assert right.receive() == [{"b": 2}]
    left.raw.close()
    assert right.receive() is None


@pytest.mark.parametrize("line", [b"\xff\xfe", b"{nonsense", b"[1]", b"null", b"[" * 5000, b"1" * 5000, b""])
def test_what_is_no_message_is_said_to_be_none(pair, line):
    left, right = pair
    left.raw.sendall(line + b"\n")
    with pytest.raises(Garbled, match="no message"):
        right.receive()


def test_a_line_may_not_grow_without_end(pair):
    left, right = pair
    right.longest = 100
    left.raw.sendall(b"x" * 101)
    with pytest.raises(Garbled, match="a line of more than 100 bytes"):
        right.receive()


def test_links_tell_of_nonsense_and_of_the_end(pair):
    left, right = pair
    links = Links()
    links.add(3, right)
    left.send({"row": 1})
    assert links.receive(5) == [(3, {"row": 1})]
    left.raw.sendall(b"nonsense\n")
    ((rank, message),) = links.receive(5)
    assert (rank, message["error"]) == (3, "the runner was sent 'nonsense', which is no message.")
    assert links.send({"job": 1}) == []
    assert left.receive() == [{"job": 1}]
    left.raw.close()
    assert links.receive(5) == [(3, {"gone": True})]
    assert len(links) == 0
    links.close()


def test_more_connections_than_select_can_watch(pair):
    """select() ends at descriptor 1023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1100:
        pytest.skip(f"this process may open {hard} files at most")
    left, right = pair
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1100), hard))
    high = fcntl.fcntl(right.fileno(), fcntl.F_DUPFD, 1050)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    links = Links()
    with closing(links):
        links.add(0, Link(socket.socket(fileno=high)))
        left.send({"step": 1})
        assert links.receive(5) == [(0, {"step": 1})]


def test_a_lost_machine_is_noticed(pair):
    for link in pair:
        assert link.raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert link.raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 30
