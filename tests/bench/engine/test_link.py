"""Messages between runner and ranks: complete, malformed, lost and paced."""

import errno
import fcntl
import resource
import selectors
import socket
import threading
import time
from contextlib import closing

import pytest

from bench.engine.link import Connections, Link, MalformedMessage
from bench.engine.listener import Listener


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


def test_waits_for_the_rest_of_a_line(pair):
    left, right = pair
    left.raw.sendall(b'{"a": 1}\n{"b"')
    assert right.receive() == [{"a": 1}]
    left.raw.sendall(b": 2}\n")
    assert right.receive() == [{"b": 2}]
    left.raw.close()
    assert right.receive() is None


@pytest.mark.parametrize("line", [b"\xff\xfe", b"{nonsense", b"[1]", b"null", b"[" * 5000, b"1" * 5000, b""])
def test_rejects_malformed_messages(pair, line):
    left, right = pair
    left.raw.sendall(line + b"\n")
    with pytest.raises(MalformedMessage):
        right.receive()


def test_rejects_too_long_lines(pair):
    left, right = pair
    right.max_bytes = 100
    left.raw.sendall(b"x" * 101)
    with pytest.raises(MalformedMessage, match="100 bytes"):
        right.receive()


def test_reports_malformed_messages_and_lost_connections(pair):
    left, right = pair
    links = Connections()
    links.add(3, right)
    left.send({"row": 1})
    assert links.receive(5) == [(3, {"row": 1})]
    left.raw.sendall(b"nonsense\n")
    ((rank, message),) = links.receive(5)
    assert rank == 3
    assert "'nonsense'" in message["error"]
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


def test_keepalive_detects_a_lost_machine(pair):
    for link in pair:
        assert link.raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert link.raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 30


class Reluctant(socket.socket):
    """A connection whose close raises, as on some systems after the other end has closed."""

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
def test_ignores_clients_that_disconnect_before_accept(number):
    class Server(socket.socket):
        def accept(self):
            super().accept()[0].close()
            raise OSError(number, "gone again")

    with Listener("127.0.0.1", ranks=1) as listener:
        plain, listener._server = listener._server, Server(fileno=listener._server.dup().detach())
        listener._selector.unregister(plain)
        listener._selector.register(listener._server, selectors.EVENT_READ)
        plain.close()
        socket.create_connection(("127.0.0.1", listener.port)).close()
        assert listener.arrivals(5) == []


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has TCP_USER_TIMEOUT")
def test_a_stopped_runner_loses_no_message():
    """TCP closes a connection with unread bytes after TCP_USER_TIMEOUT."""
    with Listener("127.0.0.1", ranks=1) as listener, closing(Link.connect(listener.address)) as rank:
        rank._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 300)
        rank.send({"token": listener.token})
        came = []
        while not came:
            came = listener.arrivals(1)
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
                        rank.acknowledged(message["read"])

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


def test_messages_are_confirmed_once_the_other_end_has_handled_them(pair):
    left, right = pair
    confirmed = threading.Event()

    def confirm() -> None:
        left.send({"row": 1})
        left.confirm()
        confirmed.set()

    threading.Thread(target=confirm, daemon=True).start()
    messages = []
    while len(messages) < 2:
        messages += right.receive()
    assert messages == [{"row": 1}, {"mark": 1}]
    assert not confirmed.wait(0.2)
    left.handled(1)
    assert confirmed.wait(5)
