"""The benches: each sets its stage, checks that what it times gives the right answer, and returns rows."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import npm
from measure import MIB, Sample, Samples, against, process, synced_append
from transcript import Conversation

TRUE, CAT = shutil.which("true"), shutil.which("cat")
SESSION = "5e551011-0000-4000-8000-000000000001"
# Names of a record's tokens, and the buckets of the truth that each is the sum of.
RECORDED = {
    "input_tokens": ("input",),
    "output_tokens": ("output",),
    "cache_read_input_tokens": ("cache_read",),
    "cache_creation_input_tokens": ("cache_write_5m", "cache_write_1h"),
}


@dataclass
class Row:
    what: str
    measured: str
    floor: str = "–"
    # What is held against the budget: a ratio (×), or what was measured.
    value: float | None = None
    unit: str = "×"
    # Without a budget a row is there to compare with.
    budget: float | None = None

    @property
    def missed(self) -> bool:
        return self.budget is not None and self.value is not None and self.value > self.budget


class Stage:
    """A home and a workspace of its own, and the binary in them."""

    def __init__(self, tally: Path, scratch: Path):
        self.tally, self.scratch = tally, scratch
        self.home, self.workspace = scratch / "home", scratch / "workspace"
        self.transcript = self.home / f".claude/projects/-workspace/{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        # A repository, as most workspaces are; also the end of the search for one.
        subprocess.run(["git", "init", "--quiet", self.workspace], check=True)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def payload(self, event: str, **more: object) -> Path:
        """A hook's standard input, as a file."""
        said = {"session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.workspace)}
        path = self.scratch / f"{event}.json"
        path.write_text(json.dumps({**said, "hook_event_name": event, **more}))
        return path

    def hook(self, payload: Path) -> Sample:
        return process([self.tally, "hook", "claude-code"], self.env, stdin=payload)

    def true(self) -> Sample:
        return process([TRUE], self.env)


def ratio_row(what: str, subject: Samples, against_what: str, floor: Samples, budget: float | None) -> Row:
    return Row(what, str(subject), f"{against_what}: {floor}", subject.median / floor.median, budget=budget)


def event_hooks(stage: Stage, runs: int) -> list[Row]:
    """Hooks on events with nothing to price: each is a line in both channels and one queued for a Console, which is down."""
    conf = stage.workspace / ".kontourai/telemetry-console.conf"
    conf.parent.mkdir()
    conf.touch(mode=0o600)
    # Nobody listens there: a prompt wakes the relay, which gives up and then waits.
    conf.write_text("console_telemetry_url=http://127.0.0.1:1\nconsole_telemetry_token=bench-token-1\n")
    call = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "cargo test"}}
    events = {
        "PostToolUse": call | {"tool_response": {"stdout": "ok\n" * 500, "stderr": "", "interrupted": False}},
        "PreToolUse": call,
        "UserPromptSubmit": {"prompt": "Run the tests, and mend what is broken."},
    }
    data, rows, fired = conf.parent / "telemetry", [], 0
    for event, said in events.items():
        payload = stage.payload(event, **said)
        hook, floor = against(lambda payload=payload: stage.hook(payload), stage.true, runs)
        fired += runs + 1
        for channel in ("full", "analytics"):
            check(f"events in {channel}", len((data / f"{channel}.jsonl").read_bytes().splitlines()), fired)
        rows.append(ratio_row(f"hook at {event}, both channels and the outbox", hook, "`/bin/true`", floor, 3))
    command = [stage.tally, "relay", "status", "--json"]
    # The last prompt may have woken a worker, which works in this folder.
    while (books := json.loads(subprocess.run(command, cwd=stage.workspace, env=stage.env, capture_output=True, check=True).stdout))["worker_running"]:
        time.sleep(0.1)
    check("queued events", (books["enqueued"], books["pending"]), (fired, fired))
    return rows


def stop_hook(stage: Stage, size_mb: int, runs: int) -> list[Row]:
    """A stop after one more turn of a long session."""
    conversation = Conversation(SESSION)
    conversation.write(stage.transcript, size_mb * 1_000_000)
    payload = stage.payload("Stop", stop_hook_active=False)
    stage.hook(payload)
    synced, line = stage.scratch / "synced", b"x" * 2_047 + b"\n"

    def floor() -> Sample:
        return Sample(stage.true().ms + synced_append(synced, line).ms)

    stop, floors = against(
        lambda: stage.hook(payload), floor, runs, before=lambda: conversation.append_turn(stage.transcript)
    )
    journal = stage.workspace / ".kontourai/telemetry/economics.jsonl"
    costs = [json.loads(line)["cost"] for line in journal.read_text().splitlines()]
    check("records", len(costs), runs + 2)
    for field, buckets in RECORDED.items():
        billed = sum(sums[bucket] for sums in conversation.by_model.values() for bucket in buckets)
        check(f"{field} of the journal", sum(cost[field] for cost in costs), billed)
    what = f"stop hook, {size_mb} MB transcript that grew by a turn"
    return [ratio_row(what, stop, "`/bin/true` + synced 2 KB append", floors, 4)]


def full_read(stage: Stage, size_mb: int, runs: int) -> list[Row]:
    """A first read of a whole transcript. It is left in the home for others to read."""
    conversation = Conversation(SESSION)
    conversation.write(stage.transcript, size_mb * 1_000_000)
    command = [stage.tally, "usage", "--json", stage.transcript]
    answer = json.loads(subprocess.run(command, env=stage.env, capture_output=True, check=True).stdout)
    check("calls", answer["calls"], conversation.calls)
    for model, sums in conversation.by_model.items():
        check(model, {name: answer["by_model"][model][name] for name in sums}, sums)
    read, floor = against(
        lambda: process(command, stage.env), lambda: process([CAT, stage.transcript], stage.env), runs
    )
    return [
        ratio_row(f"first read of {size_mb} MB", read, "`cat FILE > /dev/null`", floor, 4),
        Row("its peak memory", read.peak, value=read.peak_mib, unit="MiB", budget=32),
    ]


def ccusage(stage: Stage, size_mb: int, runs: int, cache: Path) -> list[Row]:
    """What users have today, on the file that `full_read` left."""
    what = f"ccusage 20.0.24, the same {size_mb} MB"
    try:
        packages = npm.install(Path(__file__).parent / "packages", cache)
    except npm.Missing as missing:
        return [Row(what, f"skipped: {missing}")]
    command = [shutil.which("node"), packages / "node_modules/ccusage/src/cli.js", "session", "--json", "--offline"]
    env = {**stage.env, "CLAUDE_CONFIG_DIR": str(stage.home / ".claude")}
    answer = json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    if not answer["totals"]["totalTokens"]:
        return [Row(what, "skipped: it did not find the transcript")]
    today, floor = against(
        lambda: process(command, env), lambda: process([CAT, stage.transcript], stage.env), runs
    )
    return [
        ratio_row(what, today, "`cat FILE > /dev/null`", floor, None),
        Row("its peak memory", today.peak),
    ]


def size(stage: Stage) -> list[Row]:
    """The binary as it ships: without symbols."""
    stripped = stage.scratch / "stripped"
    subprocess.run(["strip", "-o", stripped, stage.tally], check=True)
    mib = stripped.stat().st_size / MIB
    return [Row("binary, stripped", f"{mib:.2f} MiB", value=mib, unit="MiB", budget=6)]


def check(what: str, got: object, want: object) -> None:
    """A fast wrong answer is no answer: the bench ends."""
    if got != want:
        raise SystemExit(f"{what}: {got}, not {want}")
