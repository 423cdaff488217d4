from __future__ import annotations

import collections
import math
import os
import random
import re
import ssl
import threading
import time
import weakref
from typing import Deque, Iterable, Iterator, List, Optional

from ._errors import Closed, Rejected, Unavailable
from ._server import Range, Server

LARGEST_BATCH = 100_000
SLOW_AFTER = 0.1  # seconds; then another server is asked, too
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
LONELIEST_PAUSE = 1.0  # the longest one while no server is well


class Client:
    """Issues IDs that it fetches from servers in the background. Any number of threads may use it.

    servers:  URLs, such as "https://ids-1.example.com", of one namespace or with different datacenters.
    token:    sent to every server.
    segment:  the name of a segment to take IDs from; None: the generator of the servers.
    batch:    IDs of a request, 1 to 100,000. A server may have a lower limit.
    timeout:  seconds for a connection, and for each answer.
    wait:     seconds for which `next` waits while no server gives IDs.
    max_age:  seconds for which a fetched ID may wait for its use; older ones are dropped.
    context:  for TLS; None: ssl.create_default_context().

    Mistakes raise a ValueError that names all of them. After os.fork the child fetches IDs of its own.
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
        self._batch, self._timeout, self._wait, self._max_age = batch, timeout, wait, max_age
        path = "/v1/ids" if segment is None else "/v1/segments/" + segment
        query = f"{path}?form=ranges&n={batch}"
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = "Bearer " + token
        random.shuffle(urls)  # so that not all clients begin with the same server
        self._servers = [Server(url, query, headers, batch, timeout, context) for url in urls]
        self._closed = False
        self._reset()
        _clients.add(self)
        self._start()

    def _reset(self) -> None:
        """Forgets everything, as a forked child must: the parent issues the IDs in memory."""
        self._changed = threading.Condition()  # guards the attributes below, and those of servers
        self._ranges: Deque[Range] = collections.deque()
        self._left = 0  # IDs in ranges
        self._threads: List[threading.Thread] = []
        for server in self._servers:
            server.reset()

    def _start(self) -> None:
        for server in self._servers:
            thread = threading.Thread(target=self._serve, args=(server,), name=f"uidring {server.name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def next(self, wait: Optional[float] = None) -> int:
        """Returns an ID from memory. While there is none it waits, for `wait` seconds at most.

        Raises Unavailable if no server gave IDs in time, Rejected if all servers reject the
        request, and Closed.
        """
        deadline = None
        with self._changed:
            while True:
                if self._closed:
                    raise Closed("the client is closed")
                if not self._threads:
                    self._start()
                self._drop_old()
                if self._left:
                    return self._take()
                if rejection := self._rejection():
                    raise rejection.with_traceback(None)
                if deadline is None:
                    wait = self._wait if wait is None else wait
                    deadline = time.monotonic() + wait
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Unavailable(wait, {s.name: s.error for s in self._servers if s.error is not None})
                self._changed.wait(left)

    def __iter__(self) -> Iterator[int]:
        return self

    __next__ = next

    def close(self) -> None:
        """Drops the IDs in memory, and ends the requests under way. It may be called again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            threads, self._threads = self._threads, []
            for server in self._servers:
                server.interrupt()
        for thread in threads:
            thread.join(self._timeout)  # a connection that is being made cannot be interrupted

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rejection(self) -> Optional[Rejected]:
        """Returns an error if all servers reject the request."""
        rejections = [s.error for s in self._servers if isinstance(s.error, Rejected) and s.error._final]
        return rejections[0] if len(rejections) == len(self._servers) else None

    def _take(self) -> int:
        head = self._ranges[0]
        id = head.first
        head.first += 1
        if id == head.last:
            self._ranges.popleft()
        self._lose(1)
        return id

    def _drop_old(self) -> None:
        oldest = time.monotonic() - self._max_age
        while self._ranges and self._ranges[0].fetched < oldest:
            old = self._ranges.popleft()
            self._lose(old.last - old.first + 1)

    def _lose(self, n: int) -> None:
        """Counts n IDs fewer in memory, and wakes the threads when they become few."""
        if self._left > self._batch >= self._left - n:
            self._changed.notify_all()
        self._left -= n

    def _serve(self, server: Server) -> None:
        """Sends requests to a server until the client is closed: one thread for each server."""
        while self._await_turn(server):
            ranges: List[Range] = []
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
                    server.pause = min(max(2 * server.pause, FIRST_PAUSE), LONGEST_PAUSE)
                    server.early = random.random() / 4  # so that clients do not return at once
                self._changed.notify_all()
        server.disconnect()

    def _await_turn(self, server: Server) -> bool:
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

    def _due(self, server: Server, now: float) -> float:
        """Returns when a request to the server is due unless something changes before."""
        if self._left > self._batch:
            return math.inf
        if server.error is not None:
            return self._retry_at(server)
        # Servers that are not well are asked beside the others: their answers are not expected.
        asked = [s.asked for s in self._servers if s.busy and s.error is None and now - s.asked < SLOW_AFTER]
        if self._left + len(asked) * self._batch > self._batch:
            return min(asked) + SLOW_AFTER
        idle = [s for s in self._servers if not s.busy and s.error is None]
        return now if server is min(idle, key=lambda s: s.asked) else math.inf

    def _retry_at(self, server: Server) -> float:
        pause = server.pause
        if all(s.error is not None for s in self._servers):
            pause = min(pause, LONELIEST_PAUSE)
        after = server.error._retry_after if isinstance(server.error, Rejected) else 0.0
        return server.failed + max(pause * (1 - server.early), min(after, LONGEST_PAUSE))


def _check(
    urls: List[str], token: Optional[str], segment: Optional[str], batch: int, timeout: float, wait: float, max_age: float
) -> None:
    mistakes = []
    if not urls:
        mistakes.append("servers is empty, allowed: one URL or more")
    for i, url in enumerate(urls):
        if not Server.is_url(url):
            mistakes.append(f"servers[{i}] is not a valid URL, allowed: http:// or https://, a host, and optionally a port and a path")
    if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
        mistakes.append("token is empty or has characters that no token has")
    if segment is not None and not re.fullmatch("[0-9A-Za-z._-]{1,64}", segment):
        mistakes.append("segment is not a name of 1 to 64 letters, digits, dots, underscores and hyphens")
    if not 1 <= batch <= LARGEST_BATCH:
        mistakes.append(f"batch is {batch}, allowed: 1 to {LARGEST_BATCH}")
    for name, value in {"timeout": timeout, "max_age": max_age}.items():
        if not value > 0:
            mistakes.append(f"{name} is {value}, allowed: more than 0 seconds")
    if not wait >= 0:
        mistakes.append(f"wait is {wait}, allowed: 0 seconds or more")
    if mistakes:
        raise ValueError("uidring: " + "; ".join(mistakes))


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _reset_all() -> None:
    for client in list(_clients):
        client._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
