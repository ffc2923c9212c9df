"""Sets the stage for an eval that needs the real Console: the binary, the Console's packages, a scratch folder."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import binary
import npm
from console import Console

PACKAGES = Path(__file__).resolve().parent / "packages"


def play(evaluate: Callable[[Path, Console, Path], int], tokens: list[tuple[str, str]] | None = None) -> int:
    """Calls `evaluate` with the binary, a Console that is not started yet, and a scratch folder; returns what it does.
    `tokens` are the pairs of token and tenant that the Console knows, if not those of the scenario."""
    # A Console that we started must not outlive us, however we are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tally = binary.find()
    with tempfile.TemporaryDirectory(prefix="tally-eval-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder).resolve()
        cache = Path(os.environ.get("TALLY_EVAL_CACHE", scratch)).resolve()
        try:
            packages = npm.install(PACKAGES, cache)
        except npm.Missing as missing:
            binary.skip(str(missing))
        console = Console(packages, scratch, tokens)
        try:
            return evaluate(tally, console, scratch)
        finally:
            console.kill()
