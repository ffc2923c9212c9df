"""One tenant's folder with its conf, and the binary that is run in it."""

import json
import os
import subprocess
from pathlib import Path

from scenario import Tenant


class Workspace:
    def __init__(self, tenant: Tenant, scratch: Path, tally: Path, console_url: str, **settings: str):
        """`settings` are further keys of the conf."""
        self.tenant, self.tally, self.home = tenant, tally, scratch / "home"
        self.folder = scratch / tenant.id
        self.data = self.folder / ".kontourai/telemetry"
        self.conf = self.folder / ".kontourai/telemetry-console.conf"
        self.conf.parent.mkdir(parents=True)
        self.conf.touch(mode=0o600)
        self.configure(tenant.token, console_url, **settings)

    def configure(self, token: str, console_url: str, **settings: str) -> None:
        """Writes the conf anew."""
        keys = {
            "console_telemetry_url": console_url,
            "console_telemetry_token": token,
            "console_tenant_id": self.tenant.id,
            **settings,
        }
        self.conf.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))

    def run(self, *args: str, cwd: Path | None = None, stdin: str = "", **env: str) -> subprocess.CompletedProcess:
        """Runs the binary in the folder, or in `cwd`, with `env` in its environment."""
        return subprocess.run(
            [self.tally, *args],
            input=stdin,
            cwd=cwd or self.folder,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], **env},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def relay(self, *args: str) -> dict:
        """Runs `tally relay …` and returns the books."""
        return json.loads(self.run("relay", *args, "--json").stdout)

    def files_with_token(self) -> list[Path]:
        """The files of the data directory that the tenant's token is in."""
        files = [file for file in self.data.rglob("*") if file.is_file()]
        return [file for file in files if self.tenant.token.encode() in file.read_bytes()]
