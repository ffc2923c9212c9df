"""Benches of Codex rollouts: many files, of realistic shape, plain and compressed, whose sums are known."""

import json
import random
import shutil
import subprocess
from pathlib import Path

from benches import CAT, Row, Stage, check, ratio_row
from measure import against, process
from transcript import START, WORDS

ZSTD = shutil.which("zstd")
# A rollout's size; people have hundreds of them.
FILE = 20_000_000


class Rollouts:
    """Rollouts of `size` bytes together, below a home's `.codex`. `tokens` is what they add up to."""

    def __init__(self, codex_home: Path, size: int, seed: int = 1):
        self.calls, self.tokens = 0, {"input": 0, "cache_read": 0, "output": 0}
        self.files: list[Path] = []
        self._random = random.Random(seed)
        self._pool = " ".join(self._random.choices(WORDS, k=50_000))
        folder = codex_home / "sessions/2026/11/10"
        folder.mkdir(parents=True)
        number = 0
        while size > 0:
            thread = f"019a0000-0000-7000-8000-{number:012}"
            path = folder / f"rollout-2026-11-10T09-00-00-{thread}.jsonl"
            with path.open("wb") as file:
                self._thread(file, thread, number, min(size, FILE))
                size -= file.tell()
            self.files.append(path)
            number += 1

    def _thread(self, file, thread: str, number: int, size: int) -> None:
        file.write(line("session_meta", {"id": thread, "timestamp": START.isoformat(), "cwd": "/w"}))
        total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)
        turn = 0
        while file.tell() < size:
            turn_id = f"019a0001-{turn % 65536:04x}-7000-8000-{number:012}"
            turn += 1
            file.write(line("turn_context", {"turn_id": turn_id, "cwd": "/w", "model": "gpt-5.5", "user_instructions": self._text(2_000)}))
            for _ in range(self._random.randint(1, 12)):
                self._response(file, total)

    def _response(self, file, total: dict) -> None:
        pick = self._random.randint
        file.write(line("event_msg", {"type": "agent_message", "message": self._text(pick(40, 2_000))}))
        file.write(line("response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": self._text(pick(40, 2_000))}]}))
        file.write(line("response_item", {"type": "function_call_output", "call_id": "c", "output": self._text(pick(500, 16_000))}))
        cached, fresh, output = pick(0, 150_000), pick(1, 4_000), pick(1, 4_000)
        last = {
            "input_tokens": cached + fresh,
            "cached_input_tokens": cached,
            "output_tokens": output,
            "total_tokens": cached + fresh + output,
        }
        for name, count in last.items():
            total[name] += count
        counted = line("event_msg", {"type": "token_count", "info": {"total_token_usage": total, "last_token_usage": last, "model_context_window": 258_400}, "rate_limits": None})
        # Shown again, as for a display.
        file.write(counted * pick(1, 3))
        self.calls += 1
        for name, count in (("input", fresh), ("cache_read", cached), ("output", output)):
            self.tokens[name] += count

    def _text(self, length: int) -> str:
        start = self._random.randrange(len(self._pool) - length)
        return self._pool[start : start + length]


def line(kind: str, payload: dict) -> bytes:
    said = {"timestamp": "2026-11-10T09:00:01.000Z", "type": kind, "payload": payload}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def full_read(stage: Stage, size_mb: int, runs: int) -> list[Row]:
    """A first read of all rollouts of a home, plain, then compressed."""
    codex_home = stage.home / ".codex"
    rollouts = Rollouts(codex_home, size_mb * 1_000_000)
    rows = read(stage, rollouts, f"first read of {size_mb} MB of Codex rollouts", [CAT], "`cat FILES > /dev/null`", runs)
    if ZSTD is None:
        return [*rows, Row("the same, compressed", "skipped: zstd is not installed")]
    subprocess.run([ZSTD, "--quiet", "--rm", *rollouts.files], check=True)
    rollouts.files = [path.with_suffix(".jsonl.zst") for path in rollouts.files]
    return rows + read(stage, rollouts, "the same, compressed", [ZSTD, "-dcq"], "`zstd -dc FILES > /dev/null`", runs)


def read(stage: Stage, rollouts: Rollouts, what: str, floor: list, floor_what: str, runs: int) -> list[Row]:
    command = [stage.tally, "usage", "--json", "--host", "codex"]
    answer = json.loads(subprocess.run(command, env=stage.env, capture_output=True, check=True).stdout)
    check("calls", answer["calls"], rollouts.calls)
    model = answer["by_model"]["gpt-5.5"]
    check("tokens", {name: model[name] for name in rollouts.tokens}, rollouts.tokens)
    subject, floors = against(
        lambda: process(command, stage.env), lambda: process([*floor, *rollouts.files], stage.env), runs
    )
    return [
        ratio_row(what, subject, floor_what, floors, 4),
        Row("its peak memory", subject.peak, value=subject.peak_mib, unit="MiB", budget=48),
    ]
