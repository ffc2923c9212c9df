"""The same facts added up from each source by itself: the transcripts, the journal, the session events, the Console."""

import json
from decimal import Decimal
from pathlib import Path

from scenario import PRICES, WEB_SEARCH

MILLION = Decimal(1_000_000)
# How the sources name the tokens: here, in a transcript's usage, in a record's cost.
TOKENS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


def of_transcripts(folder: Path) -> dict:
    """Every message once, at the largest value of each counter, over all files of the project."""
    usages: dict[str, dict] = {}
    models: dict[str, str] = {}
    for file in sorted(folder.rglob("*.jsonl")):
        for line in map(json.loads, file.read_text().splitlines()):
            if line["type"] == "assistant":
                message = line["message"]
                models[message["id"]] = message["model"]
                largest(usages.setdefault(message["id"], {}), message["usage"])
    sums = {name: sum(usage[field] for usage in usages.values()) for name, field in TOKENS.items()}
    return sums | {"cost_usd": sum(cost(models[id], usage) for id, usage in usages.items())}


def largest(so_far: dict, usage: dict) -> None:
    for field, value in usage.items():
        if isinstance(value, dict):
            largest(so_far.setdefault(field, {}), value)
        else:
            so_far[field] = max(value, so_far.get(field, 0))


def cost(model: str, usage: dict) -> Decimal:
    written = usage["cache_creation"]
    counts = (
        usage["input_tokens"],
        usage["output_tokens"],
        usage["cache_read_input_tokens"],
        written["ephemeral_5m_input_tokens"],
        written["ephemeral_1h_input_tokens"],
    )
    tokens = sum(count * price for count, price in zip(counts, PRICES[model], strict=True))
    return tokens / MILLION + usage["server_tool_use"]["web_search_requests"] * WEB_SEARCH


def of_journal(journal: Path) -> dict:
    records = [json.loads(line, parse_float=Decimal) for line in journal.read_text().splitlines()]

    def total(*path: str):
        return sum(walk(record, path) for record in records)

    return {
        "runs": len({record["run_id"] for record in records}),
        "cost_usd": total("cost", "estimated_cost_usd"),
        **{name: total("cost", field) for name, field in TOKENS.items()},
        **{level: total("defects", "findings_by_severity", level) for level in ("critical", "high", "medium", "low")},
        "false_completions": total("defects", "caught_false_completions"),
        "gate_fires": total("defects", "gate_fires"),
        "iterations": total("iterations", "count"),
        "route_backs": total("iterations", "route_backs"),
        "human_wait_s": total("time", "human_wait_s"),
    }


def of_events(channel: Path) -> dict:
    """The last usage that was told of each session."""
    events = [json.loads(line) for line in channel.read_text().splitlines()]
    last = {event["session_id"]: event["usage"] for event in events if event["event_type"] == "session.usage"}
    return {name: sum(usage[field] for usage in last.values()) for name, field in TOKENS.items()}


def of_telemetry(answer: dict) -> dict:
    """What `GET /api/telemetry` adds up."""
    names = {"input": "inputTokens", "output": "outputTokens", "cache_read": "cacheReadInputTokens", "cache_write": "cacheCreationInputTokens"}
    return {name: answer["totals"]["usage"][field] for name, field in names.items()}


def of_console(answer: dict) -> dict:
    """What `GET /api/economics` says. It tells no tokens."""
    defects, funnel = answer["caughtDefects"], answer["funnel"]
    return {
        "runs": answer["runCount"],
        "cost_usd": sum(row["totalCostUsd"] for row in answer["cost"]),
        **defects["bySeverity"],
        "false_completions": defects["caughtFalseCompletions"],
        "gate_fires": defects["gateFires"],
        "iterations": funnel["totalIterations"],
        "route_backs": funnel["totalRouteBacks"],
        "human_wait_s": funnel["humanWaitS"],
    }


def walk(record: dict, path: tuple[str, ...]):
    for step in path:
        record = record[step]
    return record
