"""The bench of opencode's database: sessions of realistic shape, whose sums are known; its host is still there."""

import json
import random
import sqlite3
from pathlib import Path

from benches import RECORDED, Row, Stage, check, ratio_row
from measure import Sample, against, process, synced_append
from transcript import WORDS

START_MS = 1_794_300_000_000
# What one session has at most: the one that stops is the largest of many.
SESSION = 100_000_000
MODEL = "claude-sonnet-4-6"
SCHEMA = """
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
      version TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
    CREATE INDEX session_parent_idx ON session (parent_id);
    CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
    CREATE INDEX part_message_id_id_idx ON part (message_id, id);
    CREATE INDEX part_session_idx ON part (session_id);
"""


class Host:
    """A database of `size` bytes, in WAL mode and open. `sums` is what the first session adds up to."""

    def __init__(self, data: Path, workspace: Path, size: int, seed: int = 1):
        data.mkdir(parents=True)
        self.path = data / "opencode.db"
        # A host autocommits; what is written before the bench is one transaction.
        self._db = sqlite3.connect(self.path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(SCHEMA)
        self._random = random.Random(seed)
        self._pool = " ".join(self._random.choices(WORDS, k=50_000))
        self._workspace, self._ids, self.ms = workspace, 0, START_MS
        self.sums = dict.fromkeys(("input", "output", "cache_read", "cache_write_5m", "cache_write_1h"), 0)
        self._db.execute("BEGIN")
        self.first = self._session(min(size // 2, SESSION), counted=True)
        while (size_now := self._db.execute("PRAGMA page_count").fetchone()[0] * 4096) < size:
            self._session(min(size - size_now, SESSION // 10), counted=False)
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _session(self, size: int, counted: bool) -> str:
        session = self._id("ses")
        row = (session, "p", None, "s", str(self._workspace), "t", "1.14.2", self.ms, self.ms)
        self._db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        written = 0
        while written < size:
            written += self.turn(session, counted)
        return session

    def turn(self, session: str, counted: bool = True) -> int:
        """A prompt, and its answer in some steps; returns its bytes."""
        asked, answered, written = self._id("msg"), self._id("msg"), 0
        written += self._message(asked, session, {"role": "user", "time": {"created": self.ms}})
        answer = {"role": "assistant", "modelID": MODEL, "providerID": "anthropic", "time": {"created": self.ms}}
        self._message(answered, session, answer)
        for _ in range(self._random.randint(1, 8)):
            written += self._step(session, answered, answer, counted)
        answer["time"]["completed"] = self.ms
        return written + self._message(answered, session, answer)

    def _step(self, session: str, message: str, answer: dict, counted: bool) -> int:
        pick = self._random.randint
        kinds = [{"type": "step-start"}, {"type": "text", "text": self._text(pick(40, 2_000))}]
        tool = {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": self._text(pick(500, 30_000))}}
        tokens = {"input": pick(1, 4_000), "output": pick(1, 3_000), "reasoning": pick(0, 1_000)}
        tokens["cache"] = {"read": pick(0, 150_000), "write": pick(0, 4_000)}
        answer |= {"tokens": tokens, "cost": 0}
        finish = {"type": "step-finish", "reason": "tool-calls", "cost": 0, "tokens": tokens}
        written = sum(self._part(message, session, part) for part in (*kinds, tool, finish))
        if counted:
            self.sums["input"] += tokens["input"]
            self.sums["output"] += tokens["output"] + tokens["reasoning"]
            self.sums["cache_read"] += tokens["cache"]["read"]
            self.sums["cache_write_5m"] += tokens["cache"]["write"]
        return written

    def _message(self, id_: str, session: str, data: dict) -> int:
        text = json.dumps(data)
        sql = """INSERT INTO message VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET time_updated = excluded.time_updated, data = excluded.data"""
        self._db.execute(sql, (id_, session, self._tick(), self.ms, text))
        return len(text)

    def _part(self, message: str, session: str, data: dict) -> int:
        text = json.dumps(data)
        row = (self._id("prt"), message, session, self._tick(), self.ms, text)
        self._db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
        return len(text)

    def _tick(self) -> int:
        self.ms += 50
        return self.ms

    def _id(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}_{self._ids:012x}{self._random.randrange(1 << 40):010x}"

    def _text(self, length: int) -> str:
        start = self._random.randrange(len(self._pool) - length)
        return self._pool[start : start + length]


def stop_hook(stage: Stage, size_mb: int, runs: int) -> list[Row]:
    """A stop after one more turn of the largest session, while the host has the database open."""
    host = Host(stage.home / ".local/share/opencode", stage.workspace, size_mb * 1_000_000)
    payload = stage.scratch / "opencode.json"
    said = {"hook_event_name": "Stop", "session_id": host.first, "cwd": str(stage.workspace)}
    payload.write_text(json.dumps(said))
    synced, line = stage.scratch / "synced", b"x" * 2_047 + b"\n"

    def hook() -> Sample:
        return process([stage.tally, "hook", "opencode"], stage.env, stdin=payload)

    def floor() -> Sample:
        return Sample(stage.true().ms + synced_append(synced, line).ms)

    first = hook()
    stop, floors = against(hook, floor, runs, before=lambda: host.turn(host.first))
    journal = stage.workspace / ".kontourai/telemetry/economics.jsonl"
    costs = [json.loads(line)["cost"] for line in journal.read_text().splitlines()]
    check("records", len(costs), runs + 2)
    for field, buckets in RECORDED.items():
        billed = sum(host.sums[bucket] for bucket in buckets)
        check(f"{field} of the journal", sum(cost[field] for cost in costs), billed)
    peak = max(stop.peak_mib, first.peak_bytes / 2**20)
    what = f"stop hook, opencode database of {size_mb} MB that grew by a turn"
    return [
        ratio_row(what, stop, "`/bin/true` + synced 2 KB append", floors, None),
        Row("its peak memory, first stop included", f"{peak:.1f} MiB", value=peak, unit="MiB", budget=48),
    ]
