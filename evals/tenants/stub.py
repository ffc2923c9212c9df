"""A Console that remembers every request as it came, and checks token and tenant as the real one does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Request(NamedTuple):
    method: str
    path: str
    token: str | None
    tenant: str | None
    body: dict | None


class Stub:
    def __init__(self, tokens: list[tuple[str, str]]):
        self.requests: list[Request] = []
        stub, known, lock = self, dict(tokens), threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                token = (self.headers.get("authorization") or "").removeprefix("Bearer ") or None
                tenant = self.headers.get("x-console-tenant-id")
                with lock:
                    stub.requests.append(Request(self.command, self.path, token, tenant, json.loads(body) if body else None))
                if token not in known:
                    status, said = 401, {"error": "UNAUTHORIZED"}
                elif tenant not in (None, known[token]):
                    status, said = 403, {"error": "TENANT_FORBIDDEN"}
                elif self.command == "GET":
                    status, said = 200, {"tenantId": known[token]}
                else:
                    status, said = 202, {"outcome": "accepted", "status": "persisted"}
                said = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = answer

            def log_message(self, *_) -> None:
                """The requests are the log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # A worker whose time is up lets go of its connections; what was in flight comes again.
        self._server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
