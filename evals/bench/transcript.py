"""Transcripts like Claude Code's, of any size, the same for the same seed, that know what they add up to.

A turn is a prompt, then requests to the model: for each the thinking, text and tool use as lines of one message id,
whose output count grows, then the tool's result. Nothing is kept in memory but the sums.
"""

import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path

MODELS = ("claude-sonnet-4-6", "claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5")
TEXT = (500, 8_000)
START = datetime(2026, 11, 10, 9, tzinfo=timezone.utc)
# Text as agents write it: words, code, quotes, paths, a few letters beyond ASCII.
WORDS = (
    'the test reads "usage" from the file and returns\n    let total = sum(tokens);\n'
    "if self.path.exists(): raise ValueError('größer als erwartet')\n// src/report/table.rs:41 – done ✓\n"
    '{"type": "object", "required": ["id"]}\tError: expected `;` at C:\\work\\main.c\n'
).split(" ")


class Conversation:
    """A session's transcript. `truth` is what it adds up to: calls, and tokens by model."""

    def __init__(self, session: str, seed: int = 1):
        self.session, self.seed = session, seed
        self.calls = 0
        self.by_model: dict[str, dict[str, int]] = {}
        self._random = random.Random(seed)
        self._now, self._lines = START, 0
        self._pool = " ".join(self._random.choices(WORDS, k=50_000))

    def write(self, path: Path, size: int) -> None:
        """Writes a new transcript of at least `size` bytes."""
        with path.open("wb") as file:
            while file.tell() < size:
                file.writelines(self.turn(requests=self._random.randint(1, 12)))

    def append_turn(self, path: Path) -> None:
        """Adds one turn with one request, as between two stops."""
        with path.open("ab") as file:
            file.writelines(self.turn(requests=1))

    def turn(self, requests: int) -> list[bytes]:
        lines = [self._line("user", {"role": "user", "content": self._text(40, 800)})]
        for _ in range(requests):
            lines += self._request()
        return lines

    def _request(self) -> list[bytes]:
        number = self.calls
        self.calls += 1
        model = self._random.choice(MODELS)
        tool = f"toolu_{number:024}"
        blocks = [{"type": "thinking", "thinking": self._text(*TEXT), "signature": "c2lnbmF0dXJl" * 20}]
        blocks += [{"type": "text", "text": self._text(*TEXT)} for _ in range(self._random.randint(0, 2))]
        blocks += [{"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": self._text(40, 2_000)}}]
        usage = self._usage(model)
        lines = []
        for block in blocks:
            last = block is blocks[-1]
            so_far = usage if last else {**usage, "output_tokens": min(8, usage["output_tokens"])}
            message = {"id": f"msg_{self.seed:06}{number:018}", "type": "message", "role": "assistant", "model": model}
            message |= {"content": [block], "stop_reason": "tool_use" if last else None, "usage": so_far}
            lines.append(self._line("assistant", message, requestId=f"req_{number:024}"))
        output = self._text(*TEXT)
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "content": output}]}
        echo = {"stdout": output, "stderr": "", "interrupted": False}
        return [*lines, self._line("user", result, toolUseResult=echo)]

    def _usage(self, model: str) -> dict:
        """A request's usage, added to the truth."""
        pick = self._random.randint
        five, hour = pick(0, 4_000), pick(0, 4_000)
        tokens = {
            "input": pick(1, 2_000),
            "output": pick(1, 4_000),
            "cache_read": pick(0, 150_000),
            "cache_write_5m": five,
            "cache_write_1h": hour,
        }
        sums = self.by_model.setdefault(model, dict.fromkeys(tokens, 0))
        for name, count in tokens.items():
            sums[name] += count
        return {
            "input_tokens": tokens["input"],
            "cache_creation_input_tokens": five + hour,
            "cache_read_input_tokens": tokens["cache_read"],
            "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
            "output_tokens": tokens["output"],
            "service_tier": "standard",
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        }

    def _line(self, kind: str, message: dict, **more: object) -> bytes:
        self._lines += 1
        self._now += timedelta(milliseconds=700)
        line = {
            "parentUuid": f"{self._lines - 1:032}",
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/project",
            "sessionId": self.session,
            "version": "2.1.0",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": f"{self._lines:032}",
            "timestamp": self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **more,
        }
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _text(self, shortest: int, longest: int) -> str:
        length = self._random.randint(shortest, longest)
        start = self._random.randrange(len(self._pool) - length)
        return self._pool[start : start + length]
