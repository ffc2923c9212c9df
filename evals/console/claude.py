"""Claude Code as Tally sees it: transcripts that grow in a home, sidecars of the task, and hooks that are called."""

import json
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path

from scenario import Call, Step, Tenant
from workspace import Workspace

# The steps happen one minute apart, always on this day: prices have dates.
START = datetime(2026, 11, 10, 9, tzinfo=timezone.utc)
BLOCKS = [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "Done."}, {"type": "tool_use", "id": "t"}]


class Project(Workspace):
    """One tenant's project folder, and the sessions in it."""

    def __init__(self, tenant: Tenant, scratch: Path, tally: Path, console_url: str):
        super().__init__(tenant, scratch, tally, console_url)
        self.transcripts = self.home / ".claude/projects" / f"-{tenant.id}"
        self.transcripts.mkdir(parents=True)
        self._now, self._uuids = START, count(1)
        self._state, self._critique = {"task_slug": tenant.task, "status": "in_progress"}, {}

    def do(self, step: Step) -> None:
        """Lets the step happen and calls its hook."""
        self._now += timedelta(minutes=1)
        transcript = self.transcripts / f"{step.session}.jsonl"
        if step.forked_from:
            self._copy_fork(step.forked_from, transcript, step.session)
        if step.event == "Stop":
            prompt = {"type": "user", "message": {"role": "user", "content": "Go on."}}
            self._append(transcript, step.session, [prompt])
        self._append(transcript, step.session, lines_of(step.calls))
        if step.subagent_calls:
            folder = self.transcripts / step.session / "subagents"
            folder.mkdir(parents=True)
            subagent = {"isSidechain": True, "agentId": "s1"}
            lines = [{**line, **subagent} for line in lines_of(step.subagent_calls)]
            self._append(folder / "agent-s1.jsonl", step.session, lines)
        self._write_sidecars(step)
        self._hook(step, transcript)

    def stop_again(self) -> None:
        """Each session stops once more, with nothing new."""
        for session in dict.fromkeys(step.session for step in self.tenant.steps):
            self.do(Step(session, "SubagentStop"))
            self._hook(Step(session), self.transcripts / f"{session}.jsonl")

    def _hook(self, step: Step, transcript: Path) -> None:
        payload = {
            "session_id": step.session,
            "transcript_path": str(transcript),
            "cwd": str(self.folder),
            "hook_event_name": step.event,
        }
        clock = (self._now + timedelta(seconds=30)).timestamp()
        clock_ms = str(int(clock * 1000))
        # Two sessions share a task here, and would be told of each other: what is shown is economics alone.
        quiet = {"TALLY_CLOCK_MS": clock_ms, "FLOW_AGENTS_LIVENESS": "off"}
        done = self.run("hook", "claude-code", stdin=json.dumps(payload), **quiet)
        if (done.returncode, done.stdout) != (0, ""):
            raise SystemExit(f"{step}: the hook ended with {done.returncode} and said {done.stdout!r}")

    def _append(self, file: Path, session: str, lines: list[dict]) -> None:
        stamp = {"sessionId": session, "cwd": str(self.folder), "version": "2.1.0", "isSidechain": False}
        with file.open("a") as transcript:
            for second, line in enumerate(lines):
                at = (self._now + timedelta(seconds=second)).isoformat()
                own = {"uuid": f"line-{next(self._uuids)}", "timestamp": at.replace("+00:00", ".000Z")}
                transcript.write(json.dumps({**stamp, **own, **line}) + "\n")

    def _copy_fork(self, origin: str, transcript: Path, session: str) -> None:
        with transcript.open("a") as fork:
            for line in (self.transcripts / f"{origin}.jsonl").read_text().splitlines():
                copied = {**json.loads(line), "sessionId": session, "forkedFrom": {"sessionId": origin}}
                fork.write(json.dumps(copied) + "\n")

    def _write_sidecars(self, step: Step) -> None:
        self._state |= step.state
        self._critique |= step.critique
        if step.findings is not None:
            self._critique["critiques"] = [{"id": "review", "findings": [finding(text) for text in step.findings]}]
        task = self.folder / ".kontourai/flow-agents" / self.tenant.task
        task.mkdir(parents=True, exist_ok=True)
        (task.parent / "current.json").write_text(json.dumps({"active_slug": self.tenant.task}))
        (task / "state.json").write_text(json.dumps(self._state))
        (task / "critique.json").write_text(json.dumps(self._critique))


def lines_of(calls: list[Call]) -> list[dict]:
    """One line for each content block, all with the usage so far."""
    return [line_of(call, at) for call in calls for at in range(len(call.outputs))]


def line_of(call: Call, at: int) -> dict:
    last = at == len(call.outputs) - 1
    usage = {
        "input_tokens": call.input,
        "output_tokens": call.outputs[at],
        "cache_read_input_tokens": call.read,
        "cache_creation_input_tokens": call.write_5m + call.write_1h,
        "cache_creation": {"ephemeral_5m_input_tokens": call.write_5m, "ephemeral_1h_input_tokens": call.write_1h},
        "server_tool_use": {"web_search_requests": call.searches if last else 0},
    }
    message = {"id": call.id, "model": call.model, "role": "assistant", "content": [BLOCKS[at % len(BLOCKS)]]}
    message |= {"stop_reason": "end_turn" if last else None, "usage": usage}
    return {"type": "assistant", "message": message}


def finding(text: str) -> dict:
    severity, _, remark = text.partition(", ")
    return {"severity": severity, "false_completion": remark == "a false completion"}
