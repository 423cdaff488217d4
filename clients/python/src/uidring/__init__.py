"""Unique 64-bit IDs from servers of uidring, fetched ahead of use.

    with uidring.Client(["https://ids-1.example.com", "https://ids-2.example.com"], token=token) as ids:
        id = ids.next()
"""

from __future__ import annotations

import collections
import copy
import http.client
import io
import json
import math
import operator
import os
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse
import weakref
from typing import Any, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

__all__ = ["Client", "Closed", "Error", "Rejected", "Unavailable"]

_LARGEST_BATCH = 100_000
_SLOW_AFTER = 0.1  # seconds; then another server is asked, too
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LONELIEST_PAUSE = 1.0  # the longest one while no server is well
_MOST_STREAMS = 1000  # bounds the memory
_LARGEST_ID = 2**63 - 1
_DIGITS = re.compile("[0-9]{1,19}")


class Error(Exception):
    """The base of the errors of a Client."""


class Closed(Error):
    """The client was closed."""


class Rejected(Error):
    """An answer of a server without IDs.

    Client.next raises it if every server rejects the request: the token is unknown (status 401),
    the batch is larger than the servers allow (400), or they have no such segment (404).
    """

    def __init__(self, server: str, status: int, problem: Mapping[str, object], retry_after: float = 0.0):
        self.server = server
        self.status = status
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", http.client.responses.get(status, "")))
        self.detail = str(problem.get("detail", ""))
        self._retry_after = retry_after
        super().__init__(": ".join(filter(None, [f"{server}: status {status}", self.title, self.detail])))

    def __reduce__(self) -> Tuple[Any, ...]:
        """For copy and pickle, which would pass the text alone."""
        return Rejected, (self.server, self.status, vars(self), self._retry_after)

    @property
    def _final(self) -> bool:
        return self.status < 500 and self.status not in (408, 429)


class Unavailable(Error):
    """No server gave IDs in time. `servers` has the last error of each server that is not well."""

    def __init__(self, wait: float, servers: Mapping[str, Exception]):
        self.servers = dict(servers)
        causes = [str(e) if isinstance(e, Rejected) else f"{name}: {e or type(e).__name__}" for name, e in servers.items()]
        super().__init__("; ".join([f"no server gave IDs within {wait:g} s", *causes]))


class Client:
    """Issues IDs that it fetches from servers in the background. Any number of threads may use it.

    servers:  URLs, such as "https://ids-1.example.com", of one namespace or with different datacenters.
    token:    sent to every server.
    segment:  the name of a segment to take IDs from; None: the generator of the servers.
    batch:    IDs of a request, 1 to 100,000. A server may have a lower limit.
    timeout:  seconds for a connection, and for each answer.
    wait:     seconds for which `next` waits while no server gives IDs.
    max_age:  seconds from a request on for which its IDs may wait for their use; older ones are dropped. A
              server sets a bound, by default 60, that holds if it is shorter.
    context:  for TLS; None: ssl.create_default_context().

    Mistakes raise a ValueError that names all of them. After a fork the child fetches IDs of its own.
    """

    def __init__(
        self,
        servers: Iterable[str],
        *,
        token: Optional[str] = None,
        segment: Optional[str] = None,
        batch: int = 1000,
        timeout: float = 2.0,
        wait: float = 5.0,
        max_age: float = 60.0,
        context: Optional[ssl.SSLContext] = None,
    ):
        urls = [servers] if isinstance(servers, str) else list(servers)
        _check(urls, token, segment, batch, timeout, wait, max_age)
        self._batch, self._timeout, self._wait = batch, timeout, wait
        path = "/v1/ids" if segment is None else "/v1/segments/" + segment
        query = f"{path}?form=ranges&n={batch}"
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = "Bearer " + token
        random.shuffle(urls)  # so that not all clients begin with the same server
        self._servers = [_Server(url, query, headers, batch, timeout, max_age, context) for url in urls]
        self._closed = False
        self._reset()
        _clients.add(self)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _notice_fork(self) -> None:
        """Resets the client in a child of a fork of which Python was not told: uWSGI forks in C.

        A thread of the parent may have held a lock during the fork, so the child takes a new one.
        """
        pid = os.getpid()
        if self._pid != pid:
            with _resetting.setdefault(pid, threading.Lock()):
                if self._pid != pid:
                    self._reset()

    def _reset(self) -> None:
        """Forgets everything, as a forked child must: the parent issues the IDs in memory."""
        self._changed = threading.Condition()  # guards the attributes below, and those of servers
        self._ranges: Deque[_Range] = collections.deque()
        self._left = 0  # IDs in ranges
        self._threads: List[threading.Thread] = []
        for server in self._servers:
            server.reset()
        self._pid = os.getpid()  # the last step: other threads may use the client from here on

    def _start(self) -> None:
        """Starts the thread of each server that has none yet."""
        for server in self._servers[len(self._threads) :]:
            thread = threading.Thread(target=self._serve, args=(server,), name=f"uidring {server.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def next(self, wait: Optional[float] = None) -> int:
        """Returns an ID from memory. While there is none it waits, for `wait` seconds at most.

        Raises Unavailable if no server gave IDs in time, Rejected if all servers reject the
        request, and Closed. In asyncio call `await asyncio.to_thread(client.next)`. Do not call it in
        a signal handler.
        """
        self._notice_fork()
        deadline = None
        with self._changed:
            while True:
                if self._closed:
                    raise Closed("the client is closed")
                if len(self._threads) < len(self._servers):
                    self._start()
                id = self._take()
                if id is not None:
                    return id
                if rejection := self._rejection():
                    raise copy.copy(rejection)  # to which this thread adds its traceback
                if deadline is None:
                    wait = self._wait if wait is None else wait
                    deadline = time.monotonic() + wait
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(wait, {s.name: s.error for s in self._servers if s.error is not None})
                self._changed.wait(min(left, threading.TIMEOUT_MAX))

    def __iter__(self) -> Iterator[int]:
        return self

    __next__ = next

    def close(self) -> None:
        """Drops the IDs in memory, and ends the requests under way. It may be called again."""
        self._notice_fork()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            threads, self._threads = self._threads, []
            for server in self._servers:
                server.interrupt()
        deadline = time.monotonic() + self._timeout
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))  # a connection that is being made cannot be interrupted

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rejection(self) -> Optional[Rejected]:
        """Returns an error if all servers reject the request."""
        rejections = [s.error for s in self._servers if isinstance(s.error, Rejected) and s.error._final]
        return rejections[0] if len(rejections) == len(self._servers) else None

    def _take(self) -> Optional[int]:
        """Returns an ID, or None if there is none in memory. It drops ranges that are too old.

        A signal handler may raise an exception between any two steps. That loses an ID at most, and
        may leave the count too high until the ranges are empty.
        """
        now = time.monotonic()
        while self._ranges:
            head = self._ranges[0]
            id = next(head.ids, None) if now <= head.end else None
            if id is not None:
                self._lose(1)
                return id
            self._ranges.popleft()
            self._lose(operator.length_hint(head.ids))
        if self._left:
            self._lose(self._left)
        return None

    def _lose(self, n: int) -> None:
        """Counts n IDs fewer in memory, and wakes the threads when they become few."""
        if self._left > self._batch >= self._left - n:
            self._changed.notify_all()
        self._left -= n

    def _serve(self, server: _Server) -> None:
        """Sends requests to a server until the client is closed: one thread for each server."""
        while self._await_turn(server):
            ranges: List[_Range] = []
            error: Optional[Exception] = None
            try:
                ranges = server.fetch()
            except Exception as e:  # of the network, of TLS, or of the answer
                error = e.with_traceback(None)
            with self._changed:
                server.busy, server.error = False, error
                if error is None:
                    server.pause = 0.0
                    self._ranges.extend(ranges)
                    self._left += self._batch
                else:
                    server.failed = time.monotonic()
                    server.pause = min(max(2 * server.pause, _FIRST_PAUSE), _LONGEST_PAUSE)
                    server.early = random.random() / 4  # so that clients do not return at once
                self._changed.notify_all()
        server.disconnect()

    def _await_turn(self, server: _Server) -> bool:
        """Waits until a request to the server is due. False: the client is closed."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                due = self._due(server, now)
                if due <= now:
                    server.busy, server.asked = True, now
                    self._changed.notify_all()
                    return True
                self._changed.wait(None if due == math.inf else due - now)
            return False

    def _due(self, server: _Server, now: float) -> float:
        """Returns when a request to the server is due unless something changes before."""
        if self._left > self._batch:
            return math.inf
        if server.error is not None:
            return self._retry_at(server)
        # Servers that are not well are asked beside the others: their answers are not expected.
        asked = [s.asked for s in self._servers if s.busy and s.error is None and now - s.asked < _SLOW_AFTER]
        if self._left + len(asked) * self._batch > self._batch:
            return min(asked) + _SLOW_AFTER
        idle = [s for s in self._servers if not s.busy and s.error is None]
        return now if server is min(idle, key=lambda s: s.asked) else math.inf

    def _retry_at(self, server: _Server) -> float:
        pause = server.pause
        if all(s.error is not None for s in self._servers):
            pause = min(pause, _LONELIEST_PAUSE)
        after = server.error._retry_after if isinstance(server.error, Rejected) else 0.0
        return server.failed + max(pause * (1 - server.early), min(after, _LONGEST_PAUSE))


def _check(
    urls: List[str], token: Optional[str], segment: Optional[str], batch: int, timeout: float, wait: float, max_age: float
) -> None:
    mistakes = []
    if not urls:
        mistakes.append("servers is empty, allowed: one URL or more")
    for i, url in enumerate(urls):
        if not _Server.is_url(url):
            mistakes.append(f"servers[{i}] is not a valid URL, allowed: http:// or https://, a host, and optionally a port and a path")
        elif url.rstrip("/") in (before.rstrip("/") for before in urls[:i] if isinstance(before, str)):
            mistakes.append(f"servers[{i}] is a URL before it again, allowed: each URL once")
    if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
        mistakes.append("token is empty or has characters that no token has")
    if segment is not None and not re.fullmatch("[0-9A-Za-z._-]{1,64}", segment):
        mistakes.append("segment is not a name of 1 to 64 letters, digits, dots, underscores and hyphens")
    if not isinstance(batch, int) or not 1 <= batch <= _LARGEST_BATCH:
        mistakes.append(f"batch is {batch}, allowed: 1 to {_LARGEST_BATCH}")
    for name, value in {"timeout": timeout, "max_age": max_age}.items():
        if not 0 < value <= threading.TIMEOUT_MAX:
            mistakes.append(f"{name} is {value}, allowed: more than 0 seconds, up to {threading.TIMEOUT_MAX:.0f}")
    if not wait >= 0:
        mistakes.append(f"wait is {wait}, allowed: 0 seconds or more")
    if mistakes:
        raise ValueError("uidring: " + "; ".join(mistakes))


class _Range:
    """The IDs from first to last that are not issued yet, which may be issued until end."""

    __slots__ = ("ids", "end")

    def __init__(self, first: int, last: int, end: float):
        self.ids, self.end = iter(range(first, last + 1)), end


class _Timed(io.RawIOBase):
    """Reads from a socket until a deadline. The timeout of a socket bounds each read alone."""

    def __init__(self, sock: socket.socket, deadline: float):
        self._sock, self._raw, self._deadline = sock, sock.makefile("rb", buffering=0), deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> Optional[int]:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **options: Any):
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(sock, time.monotonic() + (sock.gettimeout() or 0.0)))

    def begin(self) -> None:
        super().begin()
        while self.status < 200:  # such as 103: the answer follows
            self.headers = self.msg = None
            super().begin()


class _Server:
    """A server with its last result. One thread sends its requests."""

    def __init__(
        self, url: str, query: str, headers: Dict[str, str], batch: int, timeout: float, max_age: float, context: Optional[ssl.SSLContext]
    ):
        self.name = url.rstrip("/")
        self._url = urllib.parse.urlsplit(self.name)
        self._target = self._url.path + query
        self._headers, self._batch, self._timeout, self._max_age, self._context = headers, batch, timeout, max_age, context
        self._connection: Optional[http.client.HTTPConnection] = None
        self._interrupted = False
        self._last: Dict[str, int] = {}  # the last ID of each stream, in the order of their last answers
        self.reset()

    def reset(self) -> None:
        """Forgets the last result and the connection, as a forked child must, too.

        There, a thread of the parent may hold the lock of the connection's buffer, so that a close
        would wait forever: the child closes the file descriptor alone.
        """
        self.busy = False  # a request is under way
        self.asked = 0.0  # when the last request began
        self.failed = 0.0  # when the last failure was noticed
        self.error: Optional[Exception] = None  # of the last request; None: the server is well
        self.pause = 0.0
        self.early = 0.0  # by how much of the pause
        connection, self._connection = self._connection, None
        if connection and connection.sock:
            try:
                socket.close(connection.sock.detach())
            except OSError:
                pass  # a TLS handshake was under way: the socket has no descriptor of its own

    def disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.close()

    @staticmethod
    def is_url(text: str) -> bool:
        """A password in it would show in errors."""
        try:
            url = urllib.parse.urlsplit(text)
            url.port  # raises ValueError
        except (ValueError, AttributeError):
            return False
        return url.scheme in ("http", "https") and bool(url.hostname) and "@" not in url.netloc and not set("?# ") & set(text)

    def fetch(self) -> List[_Range]:
        """Draws a batch of IDs."""
        reused = self._connection is not None
        try:
            return self._request()
        except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
            if not reused or self._interrupted:
                raise
        return self._request()  # the server had closed the idle connection

    def interrupt(self) -> None:
        """Ends the request under way, from another thread, and its repetition."""
        self._interrupted = True
        connection = self._connection
        sock = connection.sock if connection else None
        if sock:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended

    def _request(self) -> List[_Range]:
        asked = time.monotonic()
        connection = self._connection = self._connection or self._connect()
        if connection.sock:
            connection.sock.settimeout(self._timeout)
        try:
            # A cache may answer a GET again, even against its headers.
            connection.request("POST", self._target, headers=self._headers)
            answer = connection.getresponse()
            body = answer.read(65536 + 64 * self._batch)
            if answer.length or answer.read(1):
                if answer.status == 200:
                    raise ValueError("invalid answer: truncated or too long")
                self.disconnect()  # the status says enough
        except BaseException:
            self.disconnect()
            raise
        if answer.status != 200:
            raise self._problem(answer, body)
        ranges = self._parse(body)
        max_age = self._allowed(answer.getheader("Uidring-Max-Age"))
        self._follow(answer.getheader("Uidring-Stream", ""), ranges)
        age = time.monotonic() - asked
        if age > max_age:
            raise ValueError(f"an answer after {age:.3g} s, with IDs that may be kept for {max_age:g} s")
        return [_Range(first, first + count - 1, asked + max_age) for first, count in ranges]

    def _connect(self) -> http.client.HTTPConnection:
        assert self._url.hostname
        host, port = self._url.hostname, self._url.port  # without a port, http.client takes a part of an IPv6 address for it
        connection = (
            http.client.HTTPConnection(host, port or 80, timeout=self._timeout)
            if self._url.scheme == "http"
            else http.client.HTTPSConnection(host, port or 443, timeout=self._timeout, context=self._context)
        )
        connection.response_class = _Answer
        return connection

    def _problem(self, answer: http.client.HTTPResponse, body: bytes) -> Rejected:
        """Returns the error for an answer without IDs. Proxies answer without a problem document."""
        try:
            problem = json.loads(body)
        except ValueError:
            problem = None
        after = answer.getheader("Retry-After", "")
        seconds = float(after) if after.isascii() and after.isdigit() else 0.0
        return Rejected(self.name, answer.status, problem if isinstance(problem, dict) else {}, seconds)

    def _allowed(self, header: Optional[str]) -> float:
        """Returns how many seconds after their request the IDs of an answer may be kept.

        The horizon of their namespace passes older ones. Segments have no horizon and send no such header.
        """
        if header is None:
            return self._max_age
        if not re.fullmatch("[0-9]{1,9}", header):
            raise ValueError(f"invalid answer: Uidring-Max-Age {header[:64]!r}, allowed: whole seconds")
        return min(self._max_age, int(header))

    def _follow(self, stream: str, ranges: List[Tuple[int, int]]) -> None:
        """Refuses ranges that are not above the last ID of their stream: a proxy or server that repeats
        an answer has given them before. The stream is "" if a proxy drops the header.
        """
        if not re.fullmatch("[0-9A-Za-z._-]{0,64}", stream):
            raise ValueError(f"invalid answer: Uidring-Stream {stream[:64]!r}, allowed: 1 to 64 letters, digits, dots, underscores and hyphens")
        last = self._last.get(stream, 0)
        for first, count in ranges:
            if first <= last:
                raise ValueError(
                    f'invalid answer: a range of {count} IDs from {first}, allowed: above {last}, the last ID of stream "{stream}" from this server'
                )
            last = first + count - 1
        self._last.pop(stream, None)
        if len(self._last) == _MOST_STREAMS:
            del self._last[next(iter(self._last))]
        self._last[stream] = last

    def _parse(self, body: bytes) -> List[Tuple[int, int]]:
        """Returns the first ID and the count of each range."""
        try:
            ranges = [(int(_DIGITS.fullmatch(r["first"]).group()), r["count"]) for r in json.loads(body)["ranges"]]
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise ValueError(f"invalid answer: {e!r}") from None
        for first, count in ranges:
            if type(count) is not int or first < 1 or count < 1 or first + count - 1 > _LARGEST_ID:
                raise ValueError(f"invalid answer: a range of {count} IDs from {first}")
        if (total := sum(count for _, count in ranges)) != self._batch:
            raise ValueError(f"invalid answer: {total} IDs, want {self._batch}")
        return ranges


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()
_resetting: Dict[int, threading.Lock] = {}  # by process ID


def _reset_all() -> None:
    for client in list(_clients):
        client._reset()


# After os.fork the child closes its connections at once, and notices the fork even if it has the
# process ID of its parent, in a new namespace of processes.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
