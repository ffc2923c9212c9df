"""What each host writes down of its calls, in its own format, growing as the host would, and what it adds up to.

`tokens` is the sum of all that was written so far, by the names that records use; `credits` is what Kiro charged.
"""

import json
import random
import sqlite3
import sys
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "console"))

from claude import lines_of
from scenario import Call

INPUT, OUTPUT, READ, WRITE = NAMES = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


def stamp(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Ledger:
    """A session's calls. `changed` says whether anything was written since it was last asked."""

    # Whether the host has subagents whose calls are the session's.
    has_agents = False
    transcript: Path | None = None

    def __init__(self, home: Path, session: str, cwd: Path, seed: int):
        self.home, self.session, self.cwd = home, session, cwd
        self.tokens: dict[str, int] | None = dict.fromkeys(NAMES, 0)
        self.credits: float | None = None
        self.chance = random.Random(seed)
        self.count, self._seen = 0, 0
        self._written = 0

    def changed(self) -> bool:
        changed, self._seen = self._written != self._seen, self._written
        return changed

    def draw(self) -> tuple[int, int, int, int]:
        """The tokens of a call: input, output, cache read, cache write."""
        pick = self.chance.randint
        self.count += 1
        return pick(1, 2_000), pick(10, 4_000), pick(0, 150_000), pick(0, 8_000)

    def add(self, *counts: int) -> None:
        for name, count in zip(NAMES, counts, strict=True):
            self.tokens[name] += count
        self._written += 1

    def start(self, at_ms: int) -> None:
        """The session begins."""

    def turn(self, at_ms: int, calls: int) -> None:
        """A prompt and so many calls."""
        raise NotImplementedError

    def agent(self, at_ms: int, agent: str) -> None:
        """A subagent makes a call."""

    def late(self, at_ms: int) -> None:
        """What a host writes after the stop that saw the rest, if it does such a thing."""


class Claude(Ledger):
    """Lines of messages; several for one message, and one of them after the hook that first saw it."""

    has_agents = True

    def __init__(self, *args):
        super().__init__(*args)
        self.transcript = self.home / ".claude/projects/-p" / f"{self.session}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self._held: dict | None = None

    def turn(self, at_ms: int, calls: int) -> None:
        self.late(at_ms)
        self._write(self.transcript, at_ms, [{"type": "user", "message": {"role": "user", "content": "Go on."}}])
        for number in range(calls):
            lines = self._call()
            if number == calls - 1 and len(lines) > 1:
                self._held = lines.pop()
                output = self._held["message"]["usage"]["output_tokens"]
                self._kept_back = output - lines[-1]["message"]["usage"]["output_tokens"]
                self.tokens[OUTPUT] -= self._kept_back
            self._write(self.transcript, at_ms + number, lines)

    def late(self, at_ms: int) -> None:
        if self._held is not None:
            self._write(self.transcript, at_ms, [self._held])
            self.add(0, self._kept_back, 0, 0)
            self._held = None

    def agent(self, at_ms: int, agent: str) -> None:
        file = self.transcript.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        self._write(file, at_ms, [line | {"isSidechain": True, "agentId": agent} for line in self._call()])

    def _call(self) -> list[dict]:
        fresh, output, read, write = self.draw()
        hour = self.chance.randint(0, write)
        counts = sorted(self.chance.sample(range(output), min(2, output))) + [output]
        name = f"msg_{self.session[-4:]}{self.count}"
        self.add(fresh, output, read, write)
        return lines_of([Call(name, "claude-sonnet-4-6", counts, fresh, read, write - hour, hour)])

    def _write(self, file: Path, at_ms: int, lines: list[dict]) -> None:
        stamped = {"sessionId": self.session, "cwd": str(self.cwd), "isSidechain": False, "timestamp": stamp(at_ms)}
        with file.open("a") as to:
            for line in lines:
                own = {"uuid": f"{self.session}-{self.chance.randrange(1 << 60)}"}
                to.write(json.dumps(stamped | own | line) + "\n")


class Codex(Ledger):
    """Counters of the thread that only grow and are shown again and again; what was cached is part of the input."""

    def __init__(self, *args):
        super().__init__(*args)
        name = f"rollout-2026-11-10T09-00-00-{self.session}.jsonl"
        self.transcript = self.home / ".codex/sessions/2026/11/10" / name
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self._total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)

    def start(self, at_ms: int) -> None:
        self._write(at_ms, "session_meta", {"id": self.session, "timestamp": stamp(at_ms), "cwd": str(self.cwd)})

    def turn(self, at_ms: int, calls: int) -> None:
        self._write(at_ms, "turn_context", {"turn_id": f"turn-{at_ms}", "cwd": str(self.cwd), "model": "gpt-5.5"})
        for number in range(calls):
            fresh, output, read, _ = self.draw()
            last = {
                "input_tokens": fresh + read,
                "cached_input_tokens": read,
                "output_tokens": output,
                "reasoning_output_tokens": output // 2,
                "total_tokens": fresh + read + output,
            }
            for name in self._total:
                self._total[name] += last[name]
            info = {"total_token_usage": dict(self._total), "last_token_usage": last, "model_context_window": 258_400}
            for _ in range(self.chance.randint(1, 3)):
                self._write(at_ms + number, "event_msg", {"type": "token_count", "info": info, "rate_limits": None})
            self.add(fresh, output, read, 0)

    def _write(self, at_ms: int, kind: str, payload: dict) -> None:
        with self.transcript.open("a") as to:
            to.write(json.dumps({"timestamp": stamp(at_ms), "type": kind, "payload": payload}) + "\n")


class Opencode(Ledger):
    """Rows of a database that the host keeps open: a message's own tokens are those of its last step."""

    has_agents = True
    TABLES = """
        CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
          directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL,
          time_updated INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
          time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
        CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL REFERENCES message(id) ON DELETE CASCADE,
          session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
        CREATE INDEX IF NOT EXISTS session_parent_idx ON session (parent_id);
        CREATE INDEX IF NOT EXISTS message_session_time_created_id_idx ON message (session_id, time_created, id);
        CREATE INDEX IF NOT EXISTS part_message_id_id_idx ON part (message_id, id);
        CREATE INDEX IF NOT EXISTS part_session_idx ON part (session_id);"""

    def __init__(self, *args):
        super().__init__(*args)
        folder = self.home / ".local/share/opencode"
        folder.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(folder / "opencode.db", timeout=30, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.executescript(self.TABLES)
        self._agents: set[str] = set()

    def start(self, at_ms: int) -> None:
        self._session(self.session, None, at_ms)

    def turn(self, at_ms: int, calls: int) -> None:
        self._message(self.session, at_ms, {"role": "user", "time": {"created": at_ms}, "agent": "build"})
        self._answer(self.session, at_ms + 1, calls)

    def agent(self, at_ms: int, agent: str) -> None:
        if agent not in self._agents:
            self._agents.add(agent)
            self._session(agent, self.session, at_ms)
        self._answer(agent, at_ms + 1, 1)

    def _session(self, id: str, parent: str | None, at_ms: int) -> None:
        row = (id, "p", parent, id, str(self.cwd), "New session", "1.14.2", at_ms, at_ms)
        with self._database as to:
            to.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _answer(self, session: str, at_ms: int, steps: int) -> None:
        answer = {"role": "assistant", "modelID": "claude-sonnet-4-6", "providerID": "anthropic", "mode": "build", "cost": 0}
        answer |= {"time": {"created": at_ms, "completed": at_ms + steps}, "finish": "stop"}
        message = self._message(session, at_ms, answer)
        for step in range(steps):
            fresh, output, read, write = self.draw()
            reasoning = output // 3
            counts = {"input": fresh, "output": output - reasoning, "reasoning": reasoning, "cache": {"read": read, "write": write}}
            with self._database as to:
                data = json.dumps({"type": "step-finish", "reason": "stop", "cost": 0, "tokens": counts})
                row = (f"prt_{message}_{step}", message, session, at_ms + step, at_ms + step, data)
                to.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
                # A tool's output lies beside it, and may say anything.
                noise = json.dumps({"type": "tool", "state": {"output": "step-finish " * 2_000}})
                row = (f"prt_{message}_{step}_tool", message, session, at_ms + step, at_ms + step, noise)
                to.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
                to.execute("UPDATE message SET data = ? WHERE id = ?", (json.dumps(answer | {"tokens": counts}), message))
            self.add(fresh, output, read, write)

    def _message(self, session: str, at_ms: int, data: dict) -> str:
        id = f"msg_{session}_{at_ms}_{data['role']}"
        with self._database as to:
            to.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (id, session, at_ms, at_ms, json.dumps(data)))
        return id


class Pi(Ledger):
    """Entries of a tree, in a file named after time and session."""

    def __init__(self, *args):
        super().__init__(*args)
        folder = self.home / ".pi/agent/sessions" / f"--{self.cwd.name}--"
        folder.mkdir(parents=True, exist_ok=True)
        self.transcript = folder / f"2026-11-10T09-00-00-000Z_{self.session}.jsonl"
        self._parent = None

    def start(self, at_ms: int) -> None:
        self._write({"type": "session", "version": 3, "id": self.session, "timestamp": stamp(at_ms), "cwd": str(self.cwd)})

    def turn(self, at_ms: int, calls: int) -> None:
        self._entry(at_ms, {"role": "user", "content": "Go on.", "timestamp": at_ms})
        for number in range(calls):
            fresh, output, read, write = self.draw()
            usage = {"input": fresh, "output": output, "cacheRead": read, "cacheWrite": write}
            usage |= {"totalTokens": fresh + output + read + write, "cost": {"total": 0}}
            said = {"role": "assistant", "model": "claude-sonnet-4-6", "provider": "anthropic", "usage": usage}
            self._entry(at_ms + number, said | {"content": [], "stopReason": "stop", "timestamp": at_ms + number})
            self.add(fresh, output, read, write)

    def _entry(self, at_ms: int, message: dict) -> None:
        id = f"{self.chance.randrange(1 << 32):08x}"
        self._write({"type": "message", "id": id, "parentId": self._parent, "timestamp": stamp(at_ms), "message": message})
        self._parent = id

    def _write(self, entry: dict) -> None:
        with self.transcript.open("a") as to:
            to.write(json.dumps(entry) + "\n")


class Kiro(Ledger):
    """One document of all turns, written anew each time: credits, and token counts that are always 0."""

    def __init__(self, *args):
        super().__init__(*args)
        self._file = self.home / ".kiro/sessions/cli" / f"{self.session}.json"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._turns = []
        self.tokens, self.credits = None, 0.0

    def turn(self, at_ms: int, calls: int) -> None:
        # Of a hundredth of a credit each: a sum that binary floating point can be held to.
        charged = [self.chance.randint(1, 200) / 100 for _ in range(calls)]
        metered = [{"value": value, "unit": "credit", "unitPlural": "credits"} for value in charged]
        turn = {"end_timestamp": stamp(at_ms), "turn_duration": {"secs": 30, "nanos": 0}, "metering_usage": metered}
        self._turns.append(turn | {"input_token_count": 0, "output_token_count": 0, "total_request_count": calls})
        self.credits = round(self.credits + sum(charged), 2)
        self._written += 1
        state = {
            "rts_model_state": {"model_info": {"model_id": "claude-sonnet-4.5"}},
            "conversation_metadata": {"user_turn_metadatas": self._turns},
        }
        document = {"session_id": self.session, "cwd": str(self.cwd), "session_state": state}
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(document))
        new.rename(self._file)


class Generic(Ledger):
    """A framework writes no file: its stop carries what the session used so far."""

    def turn(self, at_ms: int, calls: int) -> None:
        for _ in range(calls):
            self.add(*self.draw())
