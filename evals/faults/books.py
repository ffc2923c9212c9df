"""What must add up: the journal against transcripts and events, the outbox's books, and what an origin got."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from origin import Request

# Names of a record's tokens, and the buckets of a transcript's sums (`bench/transcript.py`) that each is made of.
TOKENS = {
    "input_tokens": ("input",),
    "output_tokens": ("output",),
    "cache_read_input_tokens": ("cache_read",),
    "cache_creation_input_tokens": ("cache_write_5m", "cache_write_1h"),
}
FATES = ("delivered", "rejected", "evicted", "pending")


def in_transcript(by_model: dict[str, dict[str, int]]) -> dict[str, int]:
    """The tokens of a session, as a record names them, from the sums that the transcript's writer kept."""
    rows = by_model.values()
    return {name: sum(row[bucket] for row in rows for bucket in buckets) for name, buckets in TOKENS.items()}


def journal(path: Path) -> tuple[list[dict], int]:
    """The records, and how many lines are none. A tail without a newline is a line too."""
    records, broken = [], 0
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            if line:
                records.append(json.loads(line))
        except ValueError:
            broken += 1
    return records, broken


def by_session(records: Iterable[dict]) -> dict[str, dict[str, int]]:
    """The sums of the records' tokens."""
    sums: dict[str, dict[str, int]] = {}
    for record in records:
        session = sums.setdefault(record["session_id"], dict.fromkeys(TOKENS, 0))
        for name in TOKENS:
            session[name] += record["cost"][name] or 0
    return sums


def identities(records: Iterable[dict]) -> list[str]:
    """What is wrong with the run ids: each once, each session's numbered without a gap."""
    wrong, next_number = [], Counter()
    for record in records:
        session = record["session_id"]
        next_number[session] += 1
        number = next_number[session]
        wanted = (session if number == 1 else f"{session}.{number}", number)
        if (record["run_id"], record["sequence"]) != wanted:
            wrong.append(f"a record is {record['run_id']}, sequence {record['sequence']}, and not {wanted}")
    return wrong


def conservation(status: dict) -> list[str]:
    total = sum(status[fate] for fate in FATES)
    if status["enqueued"] == total:
        return []
    shown = " + ".join(f"{status[fate]} {fate}" for fate in FATES)
    return [f"the outbox counts {status['enqueued']} enqueued and {shown}"]


def copies(requests: Iterable[Request]) -> list[str]:
    """The ids of which not every copy has the same bytes."""
    bodies: dict[str, bytes] = {}
    return [f"{seen.id} has two bodies" for seen in requests if bodies.setdefault(seen.id, seen.body) != seen.body]
