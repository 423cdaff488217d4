"""Draws IDs as its standard input says; the tests of cmd/uidring/internal/daemon run it."""

import http.client
import os
import socket
import sys
import threading

import checks
import uidring

ids = None
checks.run()


def kind(error):
    if isinstance(error, uidring.Rejected):
        return f"rejected {error.status} {error.type}"
    return {uidring.Closed: "closed", uidring.Unavailable: "unavailable", ValueError: "invalid"}.get(type(error), "other")


def open_(servers, token, batch, timeout, wait, max_age):
    global ids
    if ids is not None:
        ids.close()
    ids = uidring.Client([s for s in servers.split(",") if s], token=token, batch=int(batch), timeout=int(timeout) / 1000,
                         wait=int(wait) / 1000, max_age=int(max_age) / 1000)


def take(n, takers):
    drawn, errors = [], []

    def draw(n):
        try:
            for _ in range(n):
                drawn.append(ids.next())
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=draw, args=(int(n) // int(takers),)) for _ in range(int(takers))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sys.stdout.writelines(f"{id}\n" for id in drawn)
    if errors:
        raise errors[0]


def fork(n):
    """Draws in a forked child, and then here."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            connection = http.client.HTTPSConnection("host")  # as in the middle of a TLS handshake
            connection.sock = socket.socket()
            socket.close(connection.sock.detach())
            ids._servers[0]._connection = connection
            ids._reset()
            take(n, 2)
            ids.close()
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    if os.waitpid(pid, 0)[1] != 0:
        raise ChildProcessError("the child failed")
    take(n, 2)


def close():
    """Closes the client while a call waits, or before it begins, and wants that call to say so."""

    def wait():
        while True:
            try:
                ids.next()
            except uidring.Closed:
                return
            except uidring.Error:
                pass

    thread = threading.Thread(target=wait)
    thread.start()
    ids.close()
    thread.join()
    ids.next()


commands = {"open": open_, "take": take, "fork": fork, "close": close}
for line in sys.stdin:
    name, *args = line.split()
    try:
        commands[name](*args)
        print("ok", flush=True)
    except Exception as e:
        print("error", kind(e), "|", str(e).replace("\n", " "), flush=True)
