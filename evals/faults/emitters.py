"""Processes that call the binary as hosts do, each with sessions of its own, and time it beside `/bin/true`."""

import json
import multiprocessing
import random
import shutil
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import books
from measure import process
from transcript import Conversation

TRUE = shutil.which("true")
# Of so many emissions one is a hook, the others are recorded events.
HOOK_IN = 3
# After so many emissions a session ends and the next begins.
LENGTH = 60


@dataclass
class Site:
    """Where an emitter works: the binary, a tenant's folder, the environment, and a folder for its files."""

    tally: Path
    folder: Path
    env: dict[str, str]
    scratch: Path


@dataclass
class Share:
    """What an emitter did, with times in milliseconds."""

    hooks: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    emitted: int = 0
    # What was not recorded, and said so: a busy machine can make a wait for a lock too long.
    refusals: list[str] = field(default_factory=list)
    # Of each session: how many emissions, and the tokens that they add up to.
    sessions: dict[str, tuple[int, dict[str, int]]] = field(default_factory=dict)


class Emitter:
    def __init__(self, number: int, site: Site):
        self.number, self.site, self.chance = number, site, random.Random(number)
        self.stdin = site.scratch / f"emitter-{number}.json"
        self.transcript = site.scratch / f"emitter-{number}.jsonl"
        self.count = 0

    def emit(self, count: int, seconds: float) -> Share:
        """Makes `count` emissions, spread over about `seconds`."""
        share = Share()
        for _ in range(count):
            time.sleep(self.chance.uniform(0, 2 * seconds / count))
            try:
                self._emit(share)
            except SystemExit as refusal:
                share.refusals.append(str(refusal))
        return share

    def _emit(self, share: Share) -> None:
        age = self.count % LENGTH
        if age == 0:
            self._new_sessions()
        self.count += 1
        if age % HOOK_IN == 0:
            self._stop(share)
        else:
            self._record(share)
        share.emitted += 1

    def _new_sessions(self) -> None:
        generation = self.count // LENGTH
        self.transcript.unlink(missing_ok=True)
        self.stopping = f"stops-{self.number}-{generation}"
        self.conversation = Conversation(self.stopping, seed=1_000 * self.number + generation)
        self.stops = 0
        self.recording = f"events-{self.number}-{generation}"
        self.events, self.usage = 0, dict.fromkeys(books.TOKENS, 0)

    def _stop(self, share: Share) -> None:
        self.conversation.append_turn(self.transcript)
        told = {"session_id": self.stopping, "transcript_path": str(self.transcript), "cwd": str(self.site.folder)}
        self.stdin.write_text(json.dumps({**told, "hook_event_name": "Stop"}))
        timed = [
            (share.hooks, lambda: process([self.site.tally, "hook", "claude-code"], self.site.env, self.stdin)),
            (share.floors, lambda: process([TRUE], self.site.env)),
        ]
        self.stops += 1
        for times, run in timed if self.stops % 2 else reversed(timed):
            times.append(run().ms)
        share.sessions[self.stopping] = self.stops, books.in_transcript(self.conversation.by_model)

    def _record(self, share: Share) -> None:
        for name in self.usage:
            self.usage[name] += self.chance.randint(1, 5_000)
        event = {
            "schema_version": "0.3.0",
            "event_type": "session.usage",
            "session_id": self.recording,
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "agent": {"runtime": "codex"},
            "context": {"cwd": str(self.site.folder)},
            "usage": {**self.usage, "model": "gpt-6", "estimated_cost_usd": (self.events + 1) / 100},
        }
        self.stdin.write_text(json.dumps(event))
        process([self.site.tally, "economics", "record", "-"], self.site.env, self.stdin)
        self.events += 1
        share.sessions[self.recording] = self.events, dict(self.usage)


class Pool:
    """One process for each site. Started before this process has threads, which a fork would not survive."""

    def __init__(self, sites: list[Site]):
        fork = multiprocessing.get_context("fork")
        self._pipes, self._processes = [], []
        for number, site in enumerate(sites):
            ours, theirs = fork.Pipe()
            self._processes.append(fork.Process(target=serve, args=[number, site, theirs], daemon=True))
            self._pipes.append(ours)
        for started in self._processes:
            started.start()

    def emit(self, count: int, seconds: float) -> list[Share]:
        """Makes `count` emissions in all, and returns when the last is made."""
        share, rest = divmod(count, len(self._pipes))
        for number, pipe in enumerate(self._pipes):
            pipe.send((share + (number < rest), seconds))
        return [pipe.recv() for pipe in self._pipes]

    def stop(self) -> None:
        for started in self._processes:
            started.kill()


def serve(number: int, site: Site, orders) -> None:
    emitter = Emitter(number, site)
    while True:
        orders.send(emitter.emit(*orders.recv()))
