"""The real Console from npm, hosted on loopback for two tenants, that can be killed and started again."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from decimal import Decimal
from pathlib import Path

from scenario import TENANTS

HERE = Path(__file__).parent
SECONDS_TO_START = 180
# A proxy in the environment is for the world outside; this is loopback.
OPEN = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class Console:
    def __init__(self, packages: Path, scratch: Path, tokens: list[tuple[str, str]] | None = None):
        """`tokens` are the pairs of token and tenant that it knows; those of the scenario, if not given."""
        self.tokens = tokens or [(tenant.token, tenant.id) for tenant in TENANTS]
        self.data = scratch / "console"
        self.data.mkdir()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = ["node", HERE / "serve.mjs", packages, self.data, str(self.port)]
        self._process = None

    def start(self) -> None:
        with (self.data / "log").open("a") as log:
            # A session of its own, so that it and its database are killed together.
            self._process = subprocess.Popen(
                self._command,
                cwd=self.data,
                env=self._env(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until(ready=True)

    def kill(self) -> None:
        """As a crash would: no time to say goodbye."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def kill_database(self) -> None:
        """The Console lives on, without its database."""
        self._process.send_signal(signal.SIGUSR2)
        self._wait_until(ready=False)

    def revive_database(self) -> None:
        self._process.send_signal(signal.SIGUSR2)
        self._wait_until(ready=True)

    def _wait_until(self, ready: bool) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if (self.get("/readyz")[0] == 200) == ready:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        self.kill()
        what = "start" if ready else "notice that its database is gone"
        raise SystemExit(f"the Console did not {what}; it said:\n{(self.data / 'log').read_text()}")

    def get(self, path: str, token: str | None = None, tenant: str | None = None) -> tuple[int, dict]:
        request = urllib.request.Request(self.url + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if tenant:
            request.add_header("x-console-tenant-id", tenant)
        try:
            with OPEN(request, timeout=10) as answer:
                return answer.status, json.load(answer, parse_float=Decimal)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def _env(self) -> dict:
        tokens = [{"token": token, "tenantId": tenant, "label": tenant} for token, tenant in self.tokens]
        tenants = list(dict.fromkeys(tenant for _, tenant in self.tokens))
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.data),
            "CONSOLE_RUNTIME_MODE": "hosted",
            "CONSOLE_TELEMETRY_STORAGE": "postgres",
            "CONSOLE_TENANT_ID": tenants[0],
            "CONSOLE_TENANT_ALLOWLIST": ",".join(tenants),
            "CONSOLE_AUTH_TOKENS_JSON": json.dumps(tokens),
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
