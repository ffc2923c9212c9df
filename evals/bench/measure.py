"""Times processes: a subject against a floor, in turn, in the same run, so that the ratio travels to other machines."""

import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
KIB = 1024


@dataclass
class Sample:
    ms: float
    # The largest resident size, as the system counts it: a child starts as a copy of this process.
    peak_bytes: int = 0


class Samples(list[Sample]):
    @property
    def median(self) -> float:
        return statistics.median(sample.ms for sample in self)

    @property
    def peak_mib(self) -> float:
        return max(sample.peak_bytes for sample in self) / MIB

    @property
    def peak(self) -> str:
        """The peak for a reader. One that is not above our own may be ours: then it is a bound."""
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB / MIB
        return f"{'≤ ' if self.peak_mib <= own else ''}{self.peak_mib:.1f} MiB"

    def __str__(self) -> str:
        times = [sample.ms for sample in self]
        return f"{self.median:.2f} ms ({min(times):.2f}–{max(times):.2f})"


def process(argv: list, env: dict, stdin: Path = Path(os.devnull)) -> Sample:
    """Runs a program to its end, with its output thrown away. One that fails ends the bench."""
    argv = [str(arg) for arg in argv]
    files = [
        (os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    start = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=files)
    _, status, used = os.wait4(pid, 0)
    ms = (time.perf_counter_ns() - start) / 1e6
    if status != 0:
        raise SystemExit(f"{' '.join(argv)}: exit code {os.waitstatus_to_exitcode(status)}")
    return Sample(ms, used.ru_maxrss * KIB)


def synced_append(path: Path, data: bytes) -> Sample:
    """Appends to a file and waits until the disk has it."""
    start = time.perf_counter_ns()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, data)
    os.fdatasync(file)
    os.close(file)
    return Sample((time.perf_counter_ns() - start) / 1e6)


def against(
    subject: Callable[[], Sample],
    floor: Callable[[], Sample],
    runs: int,
    before: Callable[[], None] = lambda: None,
) -> tuple[Samples, Samples]:
    """Runs both in turn, each first every other time; `before` prepares a round outside the timing."""
    subjects, floors = Samples(), Samples()
    for number in range(runs + 1):
        before()
        pair = [(subjects, subject), (floors, floor)]
        for samples, measured in pair if number % 2 else reversed(pair):
            samples.append(measured())
    # The first round warmed the caches.
    return Samples(subjects[1:]), Samples(floors[1:])
