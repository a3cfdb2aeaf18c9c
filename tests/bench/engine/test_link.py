"""Messages between runner and ranks arrive whole, or not at all."""

import errno
import fcntl
import resource
import selectors
import socket
import threading
import time
from contextlib import closing

import pytest

from bench.engine.link import Connections, Garbled, Link
from bench.engine.reception import Reception


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
    links = Connections()
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
    links = Connections()
    with closing(links):
        links.add(0, Link(socket.socket(fileno=high)))
        left.send({"step": 1})
        assert links.receive(5) == [(0, {"step": 1})]


def test_a_lost_machine_is_noticed(pair):
    for link in pair:
        assert link.raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert link.raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 30


class Reluctant(socket.socket):
    """A connection whose close fails, as some systems have it once the other end is gone."""

    def close(self) -> None:
        super().close()
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")


def test_closing_a_link_never_raises(pair):
    left, right = pair
    links = Connections()
    for rank in (0, 1):
        links.add(rank, Link(Reluctant(fileno=right.raw.dup().detach())))
    left.raw.close()
    assert (0, {"gone": True}) in links.receive(5)
    links.close()


@pytest.mark.parametrize("number", [errno.ENOTCONN, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EPROTO])
def test_a_connection_that_is_gone_before_it_is_accepted_is_nothing(number):
    class Server(socket.socket):
        def accept(self):
            super().accept()[0].close()
            raise OSError(number, "gone again")

    with Reception("127.0.0.1", ranks=1) as reception:
        plain, reception._server = reception._server, Server(fileno=reception._server.dup().detach())
        reception._selector.unregister(plain)
        reception._selector.register(reception._server, selectors.EVENT_READ)
        plain.close()
        socket.create_connection(("127.0.0.1", reception.port)).close()
        assert reception.arrivals(5) == []


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux gives up on a connection that waits")
def test_a_runner_that_does_not_read_for_long_loses_nothing():
    """As one does that is stopped: TCP gives up on a connection whose bytes wait for longer than this."""
    with Reception("127.0.0.1", ranks=1) as reception, closing(Link.connect(reception.address)) as rank:
        rank._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 300)
        rank.send({"token": reception.token})
        came = []
        while not came:
            came = reception.arrivals(1)
        links = Connections()
        links.add(0, came[0][0])
        with closing(links):
            count = 3000

            def compute() -> None:
                for t in range(count):
                    rank.send({"row": {"step": t, "numbers": [0.1] * 100}})

            def listen() -> None:
                while messages := rank.receive():
                    for message in messages:
                        rank.confirmed(message["read"])

            threads = [threading.Thread(target=work, daemon=True) for work in (compute, listen)]
            for thread in threads:
                thread.start()
            time.sleep(1.5)
            steps = []
            while len(steps) < count:
                news = links.receive(5)
                assert news
                assert not any("gone" in message for _, message in news)
                steps += [message["row"]["step"] for _, message in news]
            assert steps == list(range(count))
