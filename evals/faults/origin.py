"""An origin that obeys a script: a TCP server on loopback that takes records like a Console, and fails like anything.

What it is to do with a request is a *behaviour*: a function that answers on the connection and returns whether that
stays open. A change of behaviour cuts all connections. Every request is kept with its time, its credentials and what became
of it; what a relay must never do is counted as it happens: more requests in flight than allowed, two of one identity at
once, another's token or tenant.
"""

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

ACCEPTED = json.dumps({"outcome": "accepted", "status": "persisted"}).encode()
SECONDS_TO_FORWARD = 30


@dataclass
class Request:
    """A request as it came, and the status of its answer, if one was sent."""

    arrived: float
    path: str
    headers: dict[str, str]
    body: bytes
    id: str
    status: int | None = None
    answered: float | None = None
    # Whether the answer said that the record is accepted.
    accepted: bool = False


Behaviour = Callable[[socket.socket, Request], bool]


class Origin:
    """One port for its whole life, whether somebody listens there or not."""

    def __init__(self, token: str, tenant: str, behave: Behaviour, port: int = 0):
        self.token, self.tenant = token, tenant
        self.requests: list[Request] = []
        self.connections, self.most_in_flight = 0, 0
        self.faults: list[str] = []
        self._behave = behave
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._in_flight: dict[socket.socket, str] = {}
        self._listener: socket.socket | None = None
        self._fillers: list[socket.socket] = []
        self.port = port
        self.listen()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def behave(self, behaviour: Behaviour) -> None:
        """From now on `behaviour` it is, for new connections: those that are open are cut."""
        self._behave = behaviour
        self._cut()

    def listen(self) -> None:
        """Takes connections, also again after `refuse` or `swallow`."""
        self.refuse()
        self._listener = self._bind(backlog=128)
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def refuse(self) -> None:
        """Nobody listens: the system refuses connections."""
        self._cut()
        for filler in self._fillers:
            filler.close()
        self._fillers = []
        if self._listener is not None:
            # A close alone would leave the thread that waits in `accept` where it is.
            try:
                self._listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._listener.close()
            self._listener = None

    def swallow(self) -> None:
        """A listener whose backlog is full: connections are neither refused nor made."""
        self.refuse()
        self._listener = self._bind(backlog=0)
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self._fillers.append(filler)

    def _bind(self, backlog: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(backlog)
        self.port = listener.getsockname()[1]
        return listener

    def _cut(self) -> None:
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._connections.add(connection)
                self.connections += 1
            threading.Thread(target=self._serve, args=[connection, self._behave], daemon=True).start()

    def _serve(self, connection: socket.socket, behave: Behaviour) -> None:
        try:
            with connection.makefile("rb") as stream:
                stays = True
                while stays and (request := read(stream)) is not None:
                    self._arrived(connection, request)
                    stays = behave(connection, request)
                    self._left(connection)
        except OSError:
            pass
        finally:
            self._left(connection)
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _arrived(self, connection: socket.socket, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
            # A client that has given up is no longer in flight, whether or not its thread has noticed.
            flying = {other: id for other, id in self._in_flight.items() if not is_gone(other)}
            if request.id in flying.values():
                self.faults.append(f"two requests for {request.id} at once")
            self._in_flight = {**flying, connection: request.id}
            self.most_in_flight = max(self.most_in_flight, len(self._in_flight))
            shown = request.headers.get("authorization"), request.headers.get("x-console-tenant-id")
            if shown != (f"Bearer {self.token}", self.tenant):
                self.faults.append(f"{request.id} came with {shown}, not with the token of {self.tenant}")

    def _left(self, connection: socket.socket) -> None:
        with self._lock:
            self._in_flight.pop(connection, None)


def read(stream) -> Request | None:
    """The next request of a connection; `None` at its end."""
    line = stream.readline()
    if not line:
        return None
    headers = {}
    while (header := stream.readline().strip()) != b"":
        name, _, value = header.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    try:
        record = json.loads(body)
        id = record.get("run_id") or record.get("event_id")
    except ValueError:
        id = "(no JSON)"
    return Request(time.monotonic(), line.split()[1].decode("latin-1"), headers, body, id)


def is_gone(connection: socket.socket) -> bool:
    """Whether the other side has closed; a client sends nothing while it waits for an answer."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True


def send(connection: socket.socket, request: Request, status: int, body: bytes, headers: dict[str, str]) -> bool:
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} -\r\ncontent-length: {len(body)}\r\n{head}\r\n"
    request.status, request.accepted = status, status < 300 and b'"accepted"' in body
    request.answered = time.monotonic()
    connection.sendall(head.encode() + body)
    return True


def answer(status: int, body: object = b"", headers: Callable[[], dict[str, str]] = dict) -> Behaviour:
    """Answers every request alike; a `body` that is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda connection, request: send(connection, request, status, content, headers())


def accept(pause: float = 0) -> Behaviour:
    """Takes every record, `pause` seconds after it came."""

    def behave(connection: socket.socket, request: Request) -> bool:
        time.sleep(pause)
        return send(connection, request, 202, ACCEPTED, {})

    return behave


def silence(connection: socket.socket, _: Request) -> bool:
    """Reads the request, and that is all, until the client has had enough."""
    connection.recv(1)
    return False


def drip(connection: socket.socket, _: Request) -> bool:
    """A good answer, one byte a second."""
    for byte in b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}":
        connection.sendall(bytes([byte]))
        readable, _, _ = select.select([connection], [], [], 1)
        if readable:
            break
    return False


def reset_after_headers(connection: socket.socket, _: Request) -> bool:
    """The head of a good answer, then a reset."""
    connection.sendall(b"HTTP/1.1 202 Accepted\r\ncontent-length: 200\r\n\r\n")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def forward(port: int, token: str) -> Behaviour:
    """Passes every request on to the Console at `port`, with `token` in place of the one it came with, and its answer back.
    A Console that does not answer looks like a connection that breaks."""
    mine = threading.local()

    def behave(connection: socket.socket, request: Request) -> bool:
        console = getattr(mine, "console", None)
        if console is None:
            console = mine.console = HTTPConnection("127.0.0.1", port, timeout=SECONDS_TO_FORWARD)
        headers = {"authorization": f"Bearer {token}", "x-console-tenant-id": request.headers["x-console-tenant-id"]}
        try:
            console.request("POST", request.path, request.body, headers)
            reply = console.getresponse()
            body = reply.read()
        except HTTPException as broken:
            raise ConnectionError(broken) from broken
        return send(connection, request, reply.status, body, {})

    return behave
