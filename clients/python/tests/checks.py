"""Checks the client against answers that no server of uidring gives; driver.py runs it at its start."""

import contextlib
import ctypes
import http.client
import itertools
import os
import socket
import ssl
import threading
import time

import uidring

OK, REFUSAL = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 401 Unauthorized\r\n"
BODY = b'{"ranges":[{"first":"FIRST","count":2}]}'  # no two answers have the same first ID
WHOLE = OK + b"Connection: close\r\n\r\n" + BODY


@contextlib.contextmanager
def client(answer):
    """A client of a server that sends an answer to each connection, and closes it."""

    def serve():
        with contextlib.suppress(OSError):
            for first in itertools.count(10001, 2):
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(answer.replace(b"FIRST", b"%d" % first))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        with uidring.Client([f"http://127.0.0.1:{listener.getsockname()[1]}"], batch=2, wait=0.4) as ids:
            yield ids
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def outcome(call):
    try:
        return str(call())
    except (uidring.Error, RuntimeError, ValueError) as e:
        return f"{type(e).__name__}: {e}"


def expect(want, got):
    assert want in got, f"{got}, want {want}"


def check_answers():
    page = b"\r\n" + b" " * 200_000
    for answer, want in {
        WHOLE: "10001",
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY: "10001",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + WHOLE: "10001",
        WHOLE[:-1]: "invalid answer: JSONDecodeError",
        OK + b"Content-Length: 99\r\n\r\n" + BODY: "truncated or too long",
        OK + b"Content-Length: 200000\r\n" + page: "truncated or too long",
        OK + page: "truncated or too long",
        REFUSAL + b"Content-Length: 200000\r\n" + page: "Rejected: ",
        REFUSAL + page: "Rejected: ",
        b"HTTP/1.0 401 Unauthorized\r\n\r\n{}": "Rejected: ",
    }.items():
        with client(answer) as ids:
            expect(want, outcome(ids.next))


def check_options():
    got = outcome(lambda: uidring.Client(["http://a", "http://b", "http://a/"]))
    expect("servers[2] is a URL before it again, allowed: each URL once", got)


def check_errors():
    """Each call raises an error of its own, which has the traceback of one thread."""
    with client(REFUSAL + b"\r\n") as ids:
        raised = []
        for _ in range(2):
            try:
                ids.next()
            except uidring.Rejected as e:
                raised.append(e)
    first, second = raised
    assert first is not second and str(first) == str(second) and second.status == 401, raised


def check_reset():
    """An idle connection over TLS was reset: the client sends the request again."""

    class Reset(http.client.HTTPConnection):
        def request(self, *args, **options):
            raise ssl.SSLEOFError

    with client(WHOLE) as ids:
        ids.next()
        wait_until(lambda: ids._left == 3)
        server = ids._servers[0]
        server._connection = Reset("host")
        assert len(server.fetch()) == 1


def check_threads():
    """A thread that cannot start is started by a later call."""
    start, fails = threading.Thread.start, [False, True, True]

    def failing(thread):
        if thread.name.startswith("uidring ") and fails and fails.pop(0):
            raise RuntimeError("can't start new thread")
        start(thread)

    threading.Thread.start = failing
    try:
        expect("RuntimeError", outcome(lambda: uidring.Client(["http://127.0.0.1:1", "http://127.0.0.1:2"])))
        running = [t.name for t in threading.enumerate() if t.name.startswith("uidring ")]
        assert not running, running
        fails[:] = [False, True]
        with client(WHOLE) as ids:
            ids.close()
            ids._reset()
            ids._closed = False
            expect("RuntimeError", outcome(ids.next))
            ids.next()
    finally:
        threading.Thread.start = start


def check_fork():
    """A child of a fork in C, of which Python is not told, issues no ID of its parent.

    The parent's threads are idle: one that waits for Python's own lock would let Python hang.
    """
    with client(WHOLE) as ids:
        ids.next()
        wait_until(lambda: ids._left == 3)
        with ids._changed:  # as a thread may that the child does not have
            time.sleep(0.05)
            pid = ctypes.PyDLL(None).fork()
            if pid == 0:
                try:
                    os._exit(ids.next() == 10002)
                finally:
                    os._exit(2)
        status = os.waitpid(pid, 0)[1]
        assert status == 0, status
        ids.next()


def wait_until(condition):
    while not condition():
        time.sleep(0.01)


def run():
    for check in check_answers, check_options, check_errors, check_reset, check_threads, check_fork:
        check()
