"""Peers from npm: installed once per cache folder, at the exact versions of a `package.json` kept here."""

import json
import shutil
import subprocess
from pathlib import Path

MINUTES_TO_INSTALL = 5
OLDEST_NODE = 20


class Missing(Exception):
    """A peer cannot be had on this machine; the message says why."""


def install(manifest_dir: Path, cache: Path) -> Path:
    """Installs the packages that `manifest_dir` names and returns the folder that holds their `node_modules`."""
    _require_node()
    wanted = (manifest_dir / "package.json").read_bytes()
    name = json.loads(wanted)["name"]
    target = cache / name
    # Written last, so that an install that was cut short is done again.
    done = target / "installed.json"
    if done.exists() and done.read_bytes() == wanted:
        return target
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(manifest_dir, target)
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        npm = subprocess.run(
            command, cwd=target, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * MINUTES_TO_INSTALL
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"npm did not finish in {MINUTES_TO_INSTALL} minutes") from None
    if npm.returncode != 0:
        reason = (npm.stderr.strip().splitlines() or ["no reason given"])[0]
        raise Missing(f"npm could not install {name}: {reason}")
    done.write_bytes(wanted)
    return target


def _require_node() -> None:
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise Missing(f"{tool} is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        raise Missing(f"node {version} is older than {OLDEST_NODE}")
