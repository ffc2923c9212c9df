"""The relay's benches: how fast a worker empties an outbox, and how much memory a full one costs it.

The outbox is filled by writing segments as hooks seal them (docs/relay.md has the format of an entry), around the body of a
record that `tally` itself queued. The server is a process of its own that answers each request after a millisecond, on as
many threads as there are connections; what it can do at all is measured with a bare client on as many sockets.
"""

import json
import multiprocessing
import selectors
import socket
import subprocess
import threading
import time
from pathlib import Path

from benches import Row, Stage, check
from measure import KIB, MIB, Sample, Samples

QUEUED = 10_000
# The most that an outbox holds.
FULL_BYTES, FULL_ENTRIES = 64 * MIB, 50_000
SEGMENT = MIB
CONNECTIONS = 4
ANSWERS_AFTER_S = 0.001
RECORDS_A_SECOND = 1_500
PEAK_MIB = 24
ACCEPTED = b'{"outcome":"accepted","status":"persisted"}'
ANSWER = b"HTTP/1.1 202 Accepted\r\ncontent-length: %d\r\n\r\n%s" % (len(ACCEPTED), ACCEPTED)
NAME = b'"run_id":"'


class Server:
    """Takes records, in a process of its own. `taken` tells what came since it was last asked: times and run ids."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self._pipe, theirs = multiprocessing.Pipe()
        fork = multiprocessing.get_context("fork")
        self._process = fork.Process(target=serve, args=[listener, theirs], daemon=True)
        self._process.start()
        listener.close()

    def taken(self) -> list[tuple[float, bytes]]:
        self._pipe.send(None)
        return self._pipe.recv()

    def stop(self) -> None:
        self._process.kill()


def serve(listener: socket.socket, orders) -> None:
    taken = []

    def answer(connection: socket.socket) -> None:
        while request := read(connection):
            at = request.index(NAME) + len(NAME)
            taken.append((time.monotonic(), request[at : request.index(b'"', at)]))
            time.sleep(ANSWERS_AFTER_S)
            connection.sendall(ANSWER)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=[connection], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    while True:
        orders.recv()
        orders.send(taken.copy())
        taken.clear()


def read(connection: socket.socket) -> bytes:
    """One request, head and body; nothing at the end of the connection."""
    try:
        request = connection.recv(65_536)
    except ConnectionResetError:
        # A worker whose time is up lets go of its connections.
        return b""
    while request and (end := request.find(b"\r\n\r\n")) < 0:
        request += connection.recv(65_536)
    if not request:
        return b""
    head = request[:end].lower()
    start = head.index(b"content-length:") + len(b"content-length:")
    length = int(head[start:].split(b"\r\n", 1)[0])
    while len(request) < end + 4 + length:
        request += connection.recv(65_536)
    return request


def bare_client(port: int, body: bytes, requests: int) -> float:
    """Requests a second on `CONNECTIONS` sockets, each with the next request as soon as the last is answered."""
    head = b"POST /records HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(body)
    waiting = selectors.DefaultSelector()
    start = time.monotonic()
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting.register(connection, selectors.EVENT_READ)
        connection.sendall(head + body)
    sent, answered = CONNECTIONS, 0
    while answered < requests:
        for key, _ in waiting.select():
            # An answer is small enough to come in one piece on loopback.
            check("an answer", key.fileobj.recv(65_536), ANSWER)
            answered += 1
            if sent < requests:
                key.fileobj.sendall(head + body)
                sent += 1
    took = time.monotonic() - start
    for key in list(waiting.get_map().values()):
        key.fileobj.close()
    return requests / took


def high_water(pid: int) -> int:
    """The most memory that a process had at once so far, in bytes; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * KIB for line in lines if line.startswith("VmHWM:")), 0)


class Outbox:
    """An outbox in a stage's workspace, filled by hand for the origin of a server."""

    def __init__(self, stage: Stage, server: Server):
        self.stage, self.origin = stage, f"http://127.0.0.1:{server.port}"
        self.conf = stage.workspace / ".kontourai/telemetry-console.conf"
        self.conf.parent.mkdir()
        self.conf.touch(mode=0o600)
        self.conf.write_text(f"console_telemetry_url={self.origin}\nconsole_telemetry_token=bench-token-1\n")
        self.folder = self.conf.parent / "telemetry/outbox"

    def record(self) -> bytes:
        """The body of a record as it leaves, queued by `tally` under the name `template`."""
        usage = {"input_tokens": 1_000, "output_tokens": 200, "model": "gpt-6", "estimated_cost_usd": 0.0125}
        event = json.dumps({"session_id": "template", "usage": usage}).encode()
        # A worker is not wanted yet: the relay's own is kept from starting by its recursion guard.
        env = {**self.stage.env, "TALLY_RELAY_WORKER": "1"}
        command = [self.stage.tally, "economics", "record", "-"]
        subprocess.run(command, input=event, cwd=self.stage.workspace, env=env, check=True)
        queued = (self.folder / "current.jsonl").read_bytes()
        (self.folder / "current.jsonl").unlink()
        return queued[queued.index(b'"body":') + len(b'"body":') : -len(b"}\n")]

    def fill(self, body: bytes, entries: int, most: int) -> int:
        """Queues copies of `body` under names of their own, `entries` of them or `most` bytes; returns how many."""
        before, after = body.split(b'"template"', 1)
        entry = {"kind": "economics", "origin": self.origin, "path": "/records", "tenant": None}
        entry |= {"source": f"conf:{self.conf}", "enqueued_at": int(time.time() * 1000), "journal_end": 0}
        rest = json.dumps(entry, separators=(",", ":")).encode()[1:-1]
        count, total, segment = 0, 0, 0
        while count < entries and total < most:
            segment += 1
            with (self.folder / f"{segment:010}.jsonl").open("wb") as file:
                while file.tell() < SEGMENT and count < entries:
                    name = b'"run-%08d"' % count
                    line = b'{"id":%s,%s,"body":%s%s%s}\n' % (name, rest, before, name, after)
                    if total + len(line) > most:
                        return count
                    file.write(line)
                    count, total = count + 1, total + len(line)
        return count

    def work(self) -> Sample:
        """Lets a worker send what it may, as a hook would start it; its size."""
        data = self.folder.parent
        env = {**self.stage.env, "TELEMETRY_WORKSPACE_ROOT": str(self.stage.workspace)}
        peak = 0
        with subprocess.Popen([self.stage.tally, "__relay"], cwd=data, env=env) as worker:
            # What the system tells of an ended process includes the bench's own size, from before the worker's program was
            # loaded. This high-water mark does not.
            while worker.poll() is None:
                peak = max(peak, high_water(worker.pid))
                time.sleep(0.002)
        check("a worker's exit code", worker.returncode, 0)
        return Sample(0, peak)

    def books(self) -> dict:
        command = [self.stage.tally, "relay", "status", "--json"]
        folder, env = self.stage.workspace, self.stage.env
        return json.loads(subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True).stdout)


def drain(stage: Stage, server: Server) -> list[Row]:
    """A worker and `QUEUED` records."""
    outbox = Outbox(stage, server)
    body = outbox.record()
    outbox.fill(body, QUEUED, FULL_BYTES)
    outbox.work()
    books, taken = outbox.books(), server.taken()
    check("records that came more than once", len(taken) - len({name for _, name in taken}), 0)
    check("the books", (books["delivered"], books["pending"]), (len(taken), QUEUED - len(taken)))
    times = [at for at, _ in taken]
    pace = (len(times) - 1) / (times[-1] - times[0])
    bare = bare_client(server.port, body, len(times))
    server.taken()
    what = f"drain of {len(times):,} queued records, answered in 1 ms"
    floor = f"a bare client on {CONNECTIONS} sockets: {bare:,.0f} a second"
    budget = round(1_000 / RECORDS_A_SECOND, 3)
    return [
        Row(what, f"{pace:,.0f} a second", value=1_000 / pace, unit="ms a record", budget=budget),
        Row("its pace", f"{pace:,.0f} a second", floor, value=bare / pace),
    ]


def memory(stage: Stage, server: Server) -> list[Row]:
    """A worker and a full outbox."""
    outbox = Outbox(stage, server)
    outbox.record()
    # As many entries as there may be, as large as they may then be.
    body = json.dumps({"run_id": "template", "pad": ""}, separators=(",", ":")).encode()
    overhead = FULL_BYTES // FULL_ENTRIES - 300
    body = body.replace(b'"pad":""', b'"pad":"%s"' % (b"x" * (overhead - len(body))))
    count = outbox.fill(body, FULL_ENTRIES, FULL_BYTES)
    worker, books = outbox.work(), outbox.books()
    check("the books", (books["enqueued"], books["evicted"]), (count, 0))
    check("whether anything was sent", books["delivered"] > 0, True)
    server.taken()
    peak = Samples([worker])
    size = sum(file.stat().st_size for file in outbox.folder.glob("0*.jsonl"))
    what = f"a worker's peak memory, {count:,} queued records ({size / MIB:.0f} MiB left of them)"
    return [Row(what, peak.peak, value=peak.peak_mib, unit="MiB", budget=PEAK_MIB)]


def rows(drained: Stage, full: Stage) -> list[Row]:
    server = Server()
    try:
        return drain(drained, server) + memory(full, server)
    finally:
        server.stop()
