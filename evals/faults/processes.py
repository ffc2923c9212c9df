"""Looks at the machine while an eval runs: which workers there are, and how large the outbox is."""

import os
import threading
import time
from collections import defaultdict
from pathlib import Path

EVERY_S = 0.05


def workers(data: Path) -> list[int]:
    """The process ids of the workers of a data directory, as `/proc` shows them now."""
    return [pid for pid in pids() if worker_of(pid) == str(data)]


def pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def worker_of(pid: int) -> str | None:
    """The data directory that the process is the worker of; `None` if it is none, or has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            is_worker = file.read().split(b"\0")[1:2] == [b"__relay"]
        return os.readlink(f"/proc/{pid}/cwd") if is_worker else None
    except OSError:
        return None


class Watch:
    """Samples, for each data directory, the workers and the size of the outbox."""

    def __init__(self, folders: list[Path]):
        self._folders = folders
        self.most_workers, self.most_bytes = 0, 0
        self.seen: set[int] = set()
        # The longest time for which two of the same workers were there together.
        self.longest_overlap_s = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _sample(self) -> None:
        others, met_before, together = set(), set(), {}
        while not self._stopped.wait(EVERY_S):
            alive, now = pids(), time.monotonic()
            by_folder = defaultdict(list)
            for pid in alive - others:
                by_folder[worker_of(pid)].append(pid)
            # What was no worker twice is none: a process is its parent's copy for a moment before it is itself.
            met = set(by_folder.pop(None, []))
            others, met_before = (others | (met & met_before)) & alive, met
            pairs = {}
            for found in by_folder.values():
                self.seen.update(found)
                self.most_workers = max(self.most_workers, len(found))
                if len(found) > 1:
                    pair = tuple(sorted(found)[:2])
                    pairs[pair] = together.get(pair, now)
                    self.longest_overlap_s = max(self.longest_overlap_s, now - pairs[pair])
            together = pairs
            for folder in self._folders:
                self.most_bytes = max(self.most_bytes, size(folder / "outbox"))


def size(outbox: Path) -> int:
    """The bytes of what is on its way."""
    total = 0
    for file in outbox.glob("[0-9c]*.jsonl"):
        try:
            total += file.stat().st_size
        except OSError:
            continue
    return total
