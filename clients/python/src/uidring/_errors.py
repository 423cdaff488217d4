from __future__ import annotations

import http.client
from typing import Mapping


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

    @property
    def _final(self) -> bool:
        return self.status < 500 and self.status not in (408, 429)


class Unavailable(Error):
    """No server gave IDs in time. `servers` has the last error of each server that is not well."""

    def __init__(self, wait: float, servers: Mapping[str, Exception]):
        self.servers = dict(servers)
        causes = [str(e) if isinstance(e, Rejected) else f"{name}: {e or type(e).__name__}" for name, e in servers.items()]
        super().__init__("; ".join([f"no server gave IDs within {wait:g} s", *causes]))
