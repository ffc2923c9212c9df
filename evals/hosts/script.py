"""A session's day: what happens in it, in order, and which records each event must come to, by the contract of the events.

A day is a list of moments. What is in one moment happens at the same time (calls that a model makes at once); a moment
begins when the one before is over. Every event has a millisecond of its own in its session, so a record is known by it.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from hosts import Happening, Host, Speaker
from ledgers import NAMES

# 2026-11-10 09:00 UTC: prices have dates.
START_MS = 1_794_301_200_000
AGENTS = ("planner", "reviewer", "writer")
# What nobody but the machine's owner may see: all of it begins with this.
CANARY = "canary-"


@dataclass
class Expected:
    """A record that must come of an event, as far as it is known beforehand."""

    type: str
    at_ms: int
    session: str
    # Places in the record, and what is there.
    holds: dict[str, object] = field(default_factory=dict)


@dataclass
class Fired:
    """A hook call and its records."""

    payload: dict
    records: list[Expected]


@dataclass
class Snapshot:
    """What the session came to when it last had something new to tell."""

    tokens: dict[str, int] | None
    credits: float | None
    tool_invocations: int
    delegations: int


class Day:
    """A session of `host`. `moments` lets it happen: each item is a list of calls to make at once."""

    def __init__(self, host: Host, number: int, home: Path, workspace: Path, turns: int):
        self.host, self.tag, self.turns = host, f"s{number:02}", turns
        self.session = f"5e551011-0000-4000-8000-{number:012}"
        cwd = workspace / f"{CANARY}cwd-{self.tag}"
        cwd.mkdir()
        self.ledger = host.ledger(home, self.session, cwd, number)
        self.by = Speaker(self.session, cwd, self.ledger)
        self.chance = random.Random(number)
        self.calls = self.delegations = self.said = 0
        self.now_ms = START_MS + number * 1_000
        self.last: Snapshot | None = None
        self.stops = 0

    def moments(self):
        yield [self._agent_spawn()]
        for turn in range(self.turns):
            yield [self._prompt()]
            for _ in range(self.chance.randint(1, 3)):
                yield from self._tools()
            if self.host.delegate:
                yield from self._delegation()
            if "other" in self.host.events:
                yield [self._plain("other", "unknown", message=self._canary("message"))]
            self.ledger.turn(self._tick(60_000), self.chance.randint(1, 4))
            yield [self._stop("stop")]
            if turn == 1:
                # Stopped again with nothing new, as when a hook made the agent go on.
                yield [self._stop("stop")]
        if "end" in self.host.events:
            self.ledger.late(self._tick(1_000))
            yield [self._stop("end")]

    def _tools(self):
        kind = self.chance.choice(("one", "failure", "parallel", "permission"))
        if kind == "permission" and "permissionRequest" in self.host.events:
            it = Happening("permissionRequest", tool=self.host.shell, said=self._words("command", "permission"))
            yield [self._fire(it, [("tool.permission_request", {"/tool/name": it.tool})])]
        at_once = [self._call(failed=kind == "failure") for _ in range(3 if kind == "parallel" else 1)]
        begun = [self._begin(call) for call in at_once]
        yield begun
        yield [self._end(call, self._at(fired)) for call, fired in zip(at_once, begun, strict=True)]

    def _delegation(self):
        agent, id = self.chance.choice(AGENTS), f"agent-{self.tag}-{self.delegations}"
        said = self._words("query", "output")
        call = Happening("preToolUse", tool=self.host.delegate, call=self._id(), agent=agent, agent_id=id, said=said)
        begun = self._begin(call)
        yield [begun]
        if "subagentStart" in self.host.events:
            yield [self._plain("subagentStart", "unknown", agent=agent, agent_id=id)]
        if self.ledger.has_agents:
            self.ledger.agent(self._tick(1_000), id)
        if "subagentStop" in self.host.events:
            yield [self._plain("subagentStop", "unknown", agent=agent, agent_id=id)]
        yield [self._end(call, self._at(begun), outcome=None)]

    def _agent_spawn(self) -> Fired:
        self.ledger.start(self._tick(10))
        return self._plain("agentSpawn", "session.start")

    def _prompt(self) -> Fired:
        prompt = f"{self._canary('prompt')} größer"
        it = Happening("userPromptSubmit", said={"prompt": prompt})
        return self._fire(it, [("turn.user", {"/turn/prompt_length": len(prompt)})])

    def _call(self, failed: bool) -> Happening:
        said = self._words("command", "output")
        return Happening("preToolUse", tool=self.host.shell, call=self._id(), failed=failed, said=said)

    def _begin(self, call: Happening) -> Fired:
        self.calls += 1
        holds = {"/tool/name": call.tool}
        records = [("tool.invoke", holds)]
        if call.agent:
            self.delegations += 1
            targets = [call.agent, "subagent"] if self.host.name == "kiro" else [call.agent]
            holds |= {"/delegation/targets": targets, "/delegation/target": targets[0]}
            records.insert(0, ("agent.delegate", {"/delegation/targets": targets}))
        return self._fire(call, records)

    def _end(self, call: Happening, begun_ms: int, outcome: str | None = "") -> Fired:
        kind = "postToolUseFailure" if call.failed and "postToolUseFailure" in self.host.events else "postToolUse"
        over = Happening(**{**vars(call), "kind": kind})
        holds = {"/tool/name": call.tool, "/tool/duration_ms": None}
        if outcome is not None:
            holds["/tool/outcome"] = self.host.outcomes[call.failed]
        fired = self._fire(over, [("tool.result", holds)])
        holds["/tool/duration_ms"] = self._at(fired) - begun_ms
        return fired

    def _stop(self, kind: str) -> Fired:
        self.stops += 1
        it = Happening(kind, said={"message": self._canary("message")})
        tells = kind == "stop" or self.host.name != "generic"
        # The first record of a session is always written; where the host tells nothing there is none.
        news = (self.ledger.changed() or self.last is None) and tells
        records = [("session.end", {})]
        if news:
            tokens = dict(self.ledger.tokens) if self.ledger.tokens is not None else None
            self.last = Snapshot(tokens, self.ledger.credits, self.calls, self.delegations)
            holds = {f"/usage/{name}": tokens[name] if tokens else None for name in NAMES}
            holds |= {"/usage/tool_invocations": self.calls, "/usage/delegations": self.delegations}
            if self.ledger.credits is not None:
                holds["/usage/credits"] = self.ledger.credits
            records.insert(0, ("session.usage", holds))
        return self._fire(it, records)

    def _plain(self, kind: str, type: str, message: str = "", **more: str) -> Fired:
        return self._fire(Happening(kind, said={"message": message}, **more), [(type, {})])

    def _fire(self, it: Happening, records: list[tuple[str, dict]]) -> Fired:
        payload = self.host.payload(self.by, it)
        at_ms, session = self._tick(self.chance.randint(2, 5_000)), payload["session_id"]
        return Fired(payload, [Expected(type, at_ms, session, holds) for type, holds in records])

    def _at(self, fired: Fired) -> int:
        return fired.records[0].at_ms

    def _tick(self, ms: int) -> int:
        self.now_ms += ms
        return self.now_ms

    def _words(self, *names: str) -> dict[str, str]:
        return {name: self._canary(name) for name in names}

    def _canary(self, what: str) -> str:
        self.said += 1
        return f"{CANARY}{what}-{self.tag}-{self.said}"

    def _id(self) -> str:
        return f"call-{self.tag}-{self.calls}-{self.chance.randrange(1 << 40)}"
