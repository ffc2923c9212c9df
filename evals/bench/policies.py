"""The benches of the policies: each on the fixture that it does most for, and the Stop gate on a long command log."""

import hashlib
import json
import subprocess
from pathlib import Path

from benches import Row, Stage, check, ratio_row
from measure import against, process

ROOT = Path(__file__).resolve().parents[2]
GENESIS = "a3f9e2b7d5c84f1e6a0d2c3b9f7e1a4d8c6b5f2e9a0d3c7b1f4e8a2d6c0b9f3"
# What each policy is asked about; `expected` is what it must leave on standard error.
FIXTURES = {
    "config-protection": "config-protection--allow-no-verify-in-string",
    "quality-gate": "quality-gate--allow-nonexistent-file",
    "workflow-steering": "workflow-steering--reground-session-start",
    "stop-goal-fit": "stop-goal-fit--warn-active-delivery",
    "evidence-capture": "evidence-capture--allow-records-command",
}


class Workspace:
    """The workspace of a fixture, and the call of its policy."""

    def __init__(self, stage: Stage, fixture: dict):
        self.tally, self.folder = stage.tally, stage.scratch / "fixture"
        for name, content in fixture.get("workspace_setup", {}).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        self.folder.mkdir(exist_ok=True)
        payload = dict(fixture["payload"])
        if payload.get("cwd") == "__TEMP_WORKSPACE__":
            payload["cwd"] = str(self.folder)
        self.payload = stage.scratch / "payload.json"
        self.payload.write_text(json.dumps(payload))
        self.env = {**stage.env, "FLOW_AGENTS_ACTOR": "bench", **fixture.get("env", {})}
        self.argv = [self.tally, "run-hook", fixture["hook_id"], fixture["hook_script"]]

    def run(self):
        return process(self.argv, self.env, stdin=self.payload)


def fixtures(stage_of, runs: int) -> list[Row]:
    """Each policy on its fixture, against a process that does nothing."""
    shipped = json.loads((ROOT / "conformance/fixtures.json").read_text())
    rows = []
    for policy, name in FIXTURES.items():
        stage = stage_of(f"policy-{policy}")
        workspace = Workspace(stage, shipped[name])
        subject, floor = against(workspace.run, stage.true, runs)
        rows.append(ratio_row(f"{policy}, on its fixture", subject, "`/bin/true`", floor, 3))
    return rows


def long_log(stage: Stage, size_mb: int, runs: int) -> list[Row]:
    """The Stop gate on a session whose command log is long; what it is asked about is the last command of it."""
    fixture = json.loads((ROOT / "conformance/fixtures.json").read_text())
    fixture = fixture["stop-goal-fit--block-capture-contradicts-claimed-pass"]
    fixture["env"] = {"FLOW_AGENTS_GOAL_FIT_MODE": "warn", "FLOW_AGENTS_GOAL_FIT_BACKSTOP": "skip"}
    workspace = Workspace(stage, fixture)
    log = workspace.folder / ".flow-agents/false-pass/command-log.jsonl"
    write_log(log, size_mb * 1_000_000)
    subject, floor = against(workspace.run, stage.true, runs)
    said = subprocess.run(workspace.argv, env=workspace.env, input=workspace.payload.read_text(), capture_output=True, text=True)
    check("the contradiction is seen", "caught false-completion" in said.stderr, True)
    return [ratio_row(f"stop-goal-fit, {size_mb} MB command log", subject, "`/bin/true`", floor, 6)]


def write_log(path: Path, size: int) -> None:
    """A chained log whose last record is a failure of `npm test`."""
    parent, written, number = GENESIS, 0, 0
    with path.open("w") as log:
        while True:
            last = written >= size
            command, result, code = ("npm test", "fail", 1) if last else (f"command {number} {'x' * 80}", "pass", 0)
            record = {
                "command": command,
                "observedResult": result,
                "exitCode": code,
                "capturedAt": "2026-06-23T00:00:00.000Z",
                "source": "postToolUse-capture",
            }
            canonical = json.dumps(dict(sorted(record.items())), separators=(",", ":"))
            digest = hashlib.sha256((parent + canonical).encode()).hexdigest()
            record["_chain"] = {"seq": number, "prevHash": parent, "hash": digest}
            line = json.dumps(record, separators=(",", ":")) + "\n"
            log.write(line)
            parent, written, number = digest, written + len(line), number + 1
            if last:
                return
