from __future__ import annotations

import http.client
import io
import json
import re
import socket
import ssl
import time
import urllib.parse
from typing import Any, Dict, List, Optional

from ._errors import Rejected

LARGEST_ID = 2**63 - 1
DIGITS = re.compile("[0-9]{1,19}")


class Range:
    """The IDs from first to last. The first of them is the next to be issued."""

    __slots__ = ("first", "last", "fetched")

    def __init__(self, first: int, last: int, fetched: float):
        self.first, self.last, self.fetched = first, last, fetched


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


class Server:
    """A server with its last result. One thread sends its requests."""

    def __init__(self, url: str, query: str, headers: Dict[str, str], batch: int, timeout: float, context: Optional[ssl.SSLContext]):
        self.name = url.rstrip("/")
        self._url = urllib.parse.urlsplit(self.name)
        self._target = self._url.path + query
        self._headers, self._batch, self._timeout, self._context = headers, batch, timeout, context
        self._connection: Optional[http.client.HTTPConnection] = None
        self._interrupted = False
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
            socket.close(connection.sock.detach())

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

    def fetch(self) -> List[Range]:
        """Draws a batch of IDs."""
        reused = self._connection is not None
        try:
            return self._request()
        except (ConnectionResetError, BrokenPipeError):
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

    def _request(self) -> List[Range]:
        connection = self._connection = self._connection or self._connect()
        if connection.sock:
            connection.sock.settimeout(self._timeout)
        try:
            connection.request("GET", self._target, headers=self._headers)
            answer = connection.getresponse()
            body = answer.read(65536 + 64 * self._batch)
            if not answer.isclosed():
                raise ValueError("invalid answer: truncated or too long")
        except BaseException:
            self.disconnect()
            raise
        if answer.status != 200:
            raise self._problem(answer, body)
        return self._parse(body)

    def _connect(self) -> http.client.HTTPConnection:
        assert self._url.hostname
        connection = (
            http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=self._timeout)
            if self._url.scheme == "http"
            else http.client.HTTPSConnection(self._url.hostname, self._url.port, timeout=self._timeout, context=self._context)
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

    def _parse(self, body: bytes) -> List[Range]:
        try:
            ranges = [(int(DIGITS.fullmatch(r["first"]).group()), r["count"]) for r in json.loads(body)["ranges"]]
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise ValueError(f"invalid answer: {e!r}") from None
        for first, count in ranges:
            if type(count) is not int or first < 1 or count < 1 or first + count - 1 > LARGEST_ID:
                raise ValueError(f"invalid answer: a range of {count} IDs from {first}")
        if (total := sum(count for _, count in ranges)) != self._batch:
            raise ValueError(f"invalid answer: {total} IDs, want {self._batch}")
        now = time.monotonic()
        return [Range(first, first + count - 1, now) for first, count in ranges]
