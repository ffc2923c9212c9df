"""Benches of liveness: what a throttled heartbeat costs a hook, and what the standing of a long stream costs."""

import json
import os
import random
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benches import CAT, Row, Stage, check, ratio_row
from measure import against, process

START = datetime(2026, 7, 1, tzinfo=UTC)
STEP = timedelta(milliseconds=100)
TTL_S = 1800
ME, TASK = "me", "task"


def stamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(kind: str, subject: str, actor: str, at: datetime) -> str:
    """An event as the product writes it."""
    event = {"type": kind, "subjectId": subject, "actor": actor, "at": stamp(at)}
    if kind == "claim":
        event["ttlSeconds"] = TTL_S
    if kind == "heartbeat":
        event |= {"source": "tool-activity", "activity": {"tool": "Bash"}}
    return json.dumps({**event, "host": "machine-1", "branch": "main", "actor_key": actor}, separators=(",", ":")) + "\n"


class Stream:
    """The stream of 200 pairs over 40 subjects, and what each comes to. One event in a hundred is no heartbeat."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True)
        self.at = START
        # Of each pair its last event and when it was.
        self.last: dict[tuple[str, str], tuple[str, datetime]] = {}
        self.chance = random.Random(7)
        self.pairs = [
            (f"subject-{subject}", f"claude-code:5e551011-0000-4000-8000-{actor:012d}")
            for subject in range(40)
            for actor in range(5)
        ]

    def write(self, events: int | None = None, size: int = 0) -> None:
        """Writes so many events, or until the file has `size` bytes."""
        written = count = 0
        with self.path.open("w") as file:
            while written < size if events is None else count < events:
                written += file.write(self.event())
                count += 1

    def event(self) -> str:
        pair, self.at = self.chance.choice(self.pairs), self.at + STEP
        kind = "heartbeat"
        if pair not in self.last:
            kind = "claim"
        elif self.chance.random() < 0.01:
            kind = self.chance.choice(["claim", "release"])
        self.last[pair] = (kind, self.at)
        return line(kind, *pair, self.at)

    def standing(self) -> dict[tuple[str, str], tuple[str, str]]:
        """The label and the last stamp of each pair, as judged at the last event."""
        fresh = {
            pair: kind != "release" and self.at - at < timedelta(seconds=TTL_S) for pair, (kind, at) in self.last.items()
        }
        held = {subject for (subject, _), is_fresh in fresh.items() if is_fresh}

        def label(pair: tuple[str, str], kind: str) -> str:
            if kind == "release":
                return "released"
            return "held" if fresh[pair] else "superseded" if pair[0] in held else "reclaimable"

        return {pair: (label(pair, kind), stamp(at)) for pair, (kind, at) in self.last.items()}


def stream_of(stage: Stage) -> Stream:
    return Stream(stage.workspace / ".kontourai/flow-agents/liveness/events.jsonl")


def heartbeat(stage: Stage, size: int, runs: int) -> list[Row]:
    """A hook after a use of a tool, of an agent whose last heartbeat is too recent for another: with liveness alone, and with
    the session's events and the command's evidence too."""
    stream = stream_of(stage)
    stream.write(size=size)
    folder = stage.workspace / ".kontourai/flow-agents"
    (folder / TASK).mkdir()
    (folder / "current.json").write_text(json.dumps({"active_slug": TASK}))
    (folder / TASK / "state.json").write_text(json.dumps({"task_slug": TASK, "status": "in_progress"}))
    with stream.path.open("a") as file:
        file.write(line("claim", TASK, ME, stream.at) + line("heartbeat", TASK, ME, stream.at))
    now_ms = int(stream.at.timestamp() * 1000) + 1000
    stage.env |= {"FLOW_AGENTS_ACTOR": ME, "TALLY_CLOCK_MS": str(now_ms)}
    payload = stage.payload("PostToolUse", tool_name="Bash", tool_input={"command": "cargo test"})
    before = stream.path.stat().st_size
    size_of = f"{before / 1000:,.0f} KB stream"
    rows = []
    for enabled, what, bound in (("false", "throttled heartbeat", 2.5), ("true", "the same, events and evidence", None)):
        stage.env["TELEMETRY_ENABLED"] = enabled
        hook, floor = against(lambda: stage.hook(payload), stage.true, runs)
        rows.append(ratio_row(f"{what}, {size_of}", hook, "`/bin/true`", floor, bound))
    check("bytes of the stream", stream.path.stat().st_size, before)
    stage.env["TALLY_CLOCK_MS"] = str(now_ms + 60_000)
    stage.hook(payload)
    check("a heartbeat a minute later", stream.path.stat().st_size > before, True)
    return rows


def status(stage: Stage, events: int, runs: int) -> list[Row]:
    """The standing of every claim in a long stream."""
    stream = stream_of(stage)
    stream.write(events=events)
    command = [stage.tally, "liveness", "status", "--json", "--now", stamp(stream.at)]
    # The stream is found from the working directory, which a child inherits.
    os.chdir(stage.workspace)
    done = subprocess.run(command, env=stage.env, capture_output=True, check=True)
    claims = json.loads(done.stdout)["claims"]
    got = {(claim["subjectId"], claim["actor"]): (claim["label"], claim["lastAt"]) for claim in claims}
    check("the standing", got, stream.standing())
    read, floor = against(
        lambda: process(command, stage.env), lambda: process([CAT, stream.path], stage.env), runs
    )
    os.chdir("/")
    return [
        ratio_row(f"liveness status, {events:,} events", read, "`cat FILE > /dev/null`", floor, 3),
        Row("its peak memory", read.peak, value=read.peak_mib, unit="MiB", budget=64),
    ]
