"""Records that the real Console chokes on (`poison/`: each answered with 500 on every try).

From such input the binary makes records without the poison, or none at all. So that the relay meets poison all the same, it is
put into the outbox in the way of `tally` itself: a line, appended under the lock (docs/relay.md has the format).
"""

import fcntl
import json
import time
from pathlib import Path

import books
from workspace import Workspace

FOLDER = Path(__file__).parent / "poison"
PATHS = {"economics": "/records", "telemetry": "/api/telemetry/records"}
LONGEST_ID = 200


def into_outbox(workspace: Workspace, origin: str) -> list[str]:
    """Queues every poison record; returns their ids."""
    lines, ids = [], []
    for file in sorted(FOLDER.glob("*.json")):
        kind, body = file.name.partition("-")[0], json.loads(file.read_text())
        # The name of an entry is harmless, whatever its body says.
        ids.append(file.stem)
        entry = {
            "id": ids[-1],
            "kind": kind,
            "origin": origin,
            "path": PATHS[kind],
            "tenant": workspace.tenant.id,
            "source": f"conf:{workspace.conf}",
            "enqueued_at": int(time.time() * 1000),
            "journal_end": 0,
            "body": body,
        }
        lines.append(json.dumps(entry) + "\n")
    outbox = workspace.data / "outbox"
    with (outbox / "outbox.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (outbox / "current.jsonl").open("a") as current:
            current.write("".join(lines))
    return ids


def through_the_product(workspace: Workspace) -> list[str]:
    """Records events that ask for each kind of poison, and says what is wrong with what came of them."""
    usage = {"input_tokens": 10, "output_tokens": 1, "estimated_cost_usd": 0.001, "model": "gpt-6"}
    plain = {"event_type": "session.usage", "usage": usage, "context": {"cwd": str(workspace.folder)}}
    state, agents = workspace.folder / "poison-state.json", workspace.folder / "poison-agents"
    state.write_text(json.dumps({"task_slug": 5, "delegations": [None]}))
    (agents / "one").mkdir(parents=True)
    (agents / "one/events.jsonl").write_text("null\n[null]\n5\n")
    sidecars = ["--state", str(state), "--agents-dir", str(agents)]
    built = [
        ({"session_id": "poison-nul-\0x"}, []),
        ({"session_id": "poison-" + "0123456789abcdef" * 375}, []),
        ({"session_id": "poison-late", "timestamp": "99999999999999999999"}, []),
        ({"session_id": "poison-when", "timestamp": "not-a-time"}, []),
        ({"session_id": "poison-task"}, sidecars),
    ]
    wrong = []
    before = len(books.journal(workspace.data / "economics.jsonl")[0])
    for asked, args in built:
        done = workspace.run("economics", "record", "-", *args, stdin=json.dumps({**plain, **asked}))
        wrong += [f"{asked} was answered with {done.returncode}: {done.stderr}"] if done.returncode else []
    surrogate = workspace.run("economics", "record", "-", stdin=json.dumps({**plain, "session_id": "poison-\ud800"}))
    if surrogate.returncode != 1 or "not a JSON object" not in surrogate.stderr:
        wrong.append(f"an event with half a surrogate pair was answered with {surrogate.returncode}")
    made = books.journal(workspace.data / "economics.jsonl")[0][before:]
    wrong += [f"{len(made)} records of {len(built)} events"] if len(made) != len(built) else []
    for record in made:
        keys = record["run_id"], record["session_id"], record["task_slug"] or ""
        is_harmless = (
            all(isinstance(key, str) and key.isprintable() and len(key) <= LONGEST_ID for key in keys)
            and all(isinstance(row, dict) for row in record["delegations"])
            and 0 <= int(record["at"]) < 2**53
        )
        wrong += [] if is_harmless else [f"poison was recorded: {str(record)[:300]!a}"]
    return wrong
