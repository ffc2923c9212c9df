"""What each host says to its hooks, in its own words: a canonical event and its parts to the payload on standard input.

The payloads are those of the hosts' documented hooks and of the plugins that `tally init` installs.
"""

from dataclasses import dataclass, field
from pathlib import Path

import ledgers
from ledgers import Ledger


@dataclass
class Happening:
    """An event by its canonical name, and what there is to say of it."""

    kind: str
    # The tool, and the call's id.
    tool: str = ""
    call: str = ""
    failed: bool = False
    # What people and tools said: prompt, command, query, output, message, permission.
    said: dict[str, str] = field(default_factory=dict)
    # A subagent's name and id.
    agent: str = ""
    agent_id: str = ""


@dataclass
class Speaker:
    """A session of a host, as far as payloads tell of it."""

    session: str
    cwd: Path
    ledger: Ledger


class Host:
    name = ""
    ledger: type[Ledger]
    # The native names of events that the host tells of, by the canonical ones; `end` is the end of a session.
    events: dict[str, str] = {}
    shell = "Bash"
    delegate: str | None = None
    # What a failed and a good shell call come to.
    outcomes = {True: "fail", False: "pass"}

    def payload(self, by: Speaker, it: Happening) -> dict:
        said = {"session_id": by.session, "cwd": str(by.cwd), "hook_event_name": self.events[it.kind]}
        if by.ledger.transcript is not None:
            said["transcript_path"] = str(by.ledger.transcript)
        return said | self.parts(by, it)

    def parts(self, by: Speaker, it: Happening) -> dict:
        if it.kind == "userPromptSubmit":
            return {"prompt": it.said["prompt"]}
        if it.kind in ("preToolUse", "postToolUse", "postToolUseFailure"):
            parts = {"tool_name": it.tool, "tool_use_id": it.call, "tool_input": self.tool_input(it)}
            if it.kind != "preToolUse":
                parts |= self.result(it)
            return parts
        if it.kind == "permissionRequest":
            return {"tool_name": it.tool, "tool_input": {"command": it.said["command"], "description": it.said["permission"]}}
        if it.kind in ("subagentStart", "subagentStop"):
            return {"agent_type": it.agent, "agent_id": it.agent_id}
        if it.kind == "stop":
            return {"stop_hook_active": False, "last_assistant_message": it.said["message"]}
        return {}

    def tool_input(self, it: Happening) -> dict:
        if it.tool == self.delegate:
            return {"subagent_type": it.agent, "prompt": it.said["query"], "description": it.said["query"]}
        return {"command": it.said["command"]}

    def result(self, it: Happening) -> dict:
        return {"tool_response": {"output": it.said["output"], "exitCode": 1 if it.failed else 0}}


class ClaudeCode(Host):
    name, ledger, delegate = "claude-code", ledgers.Claude, "Task"
    events = {
        "agentSpawn": "SessionStart",
        "userPromptSubmit": "UserPromptSubmit",
        "preToolUse": "PreToolUse",
        "permissionRequest": "PermissionRequest",
        "postToolUse": "PostToolUse",
        "postToolUseFailure": "PostToolUseFailure",
        "subagentStart": "SubagentStart",
        "subagentStop": "SubagentStop",
        "stop": "Stop",
        "end": "SessionEnd",
        "other": "Notification",
    }
    # What succeeded has no exit code.
    outcomes = {True: "fail", False: "ambiguous"}

    def parts(self, by: Speaker, it: Happening) -> dict:
        if it.kind == "other":
            return {"message": it.said["message"]}
        if it.kind == "agentSpawn":
            return {"source": "startup", "model": "claude-sonnet-4-6"}
        return super().parts(by, it)

    def result(self, it: Happening) -> dict:
        if it.failed:
            return {"error": f"Exit code 1\n{it.said['output']}", "is_interrupt": False}
        return {"tool_response": {"stdout": it.said["output"], "stderr": "", "interrupted": False}}


class Codex(Host):
    name, ledger, delegate = "codex", ledgers.Codex, "spawn_agent"
    events = {kind: name for kind, name in ClaudeCode.events.items() if kind not in ("postToolUseFailure", "end", "other")}
    # The payload has no exit code, and these rollouts do not tell of the call.
    outcomes = {True: "ambiguous", False: "ambiguous"}

    def parts(self, by: Speaker, it: Happening) -> dict:
        return {"model": "gpt-5.5", "turn_id": "turn-1", "permission_mode": "default"} | super().parts(by, it)

    def tool_input(self, it: Happening) -> dict:
        return {"agent_type": it.agent, "message": it.said["query"]} if it.tool == self.delegate else super().tool_input(it)

    def result(self, it: Happening) -> dict:
        return {"tool_response": it.said["output"]}


class Opencode(Host):
    name, ledger, delegate = "opencode", ledgers.Opencode, "task"
    shell = "bash"
    events = {
        "agentSpawn": "SessionStart",
        "userPromptSubmit": "UserPromptSubmit",
        "preToolUse": "PreToolUse",
        "postToolUse": "PostToolUse",
        "subagentStop": "SubagentStop",
        "stop": "Stop",
        "end": "SessionEnd",
    }

    def parts(self, by: Speaker, it: Happening) -> dict:
        if it.kind == "userPromptSubmit":
            model = "anthropic/claude-sonnet-4-6"
            return {"agent_type": "build", "model": model, "turn_id": "msg_1", "prompt": it.said["prompt"]}
        if it.kind == "subagentStop":
            # A subagent is a session of its own.
            return {"session_id": it.agent_id}
        return {} if it.kind == "stop" else super().parts(by, it)


class Pi(Host):
    name, ledger = "pi", ledgers.Pi
    shell = "bash"
    events = {kind: name for kind, name in Opencode.events.items() if kind != "subagentStop"}
    outcomes = {True: "fail", False: "ambiguous"}

    def parts(self, by: Speaker, it: Happening) -> dict:
        return {} if it.kind == "stop" else super().parts(by, it)

    def result(self, it: Happening) -> dict:
        return {"tool_response": {"content": [{"type": "text", "text": it.said["output"]}], "is_error": it.failed}}


class Kiro(Host):
    name, ledger, delegate = "kiro", ledgers.Kiro, "use_subagent"
    shell = "execute_bash"
    events = {kind: kind for kind in ("agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop")}
    outcomes = {True: "fail", False: "ambiguous"}

    def parts(self, by: Speaker, it: Happening) -> dict:
        if it.kind == "stop":
            return {"assistant_response": it.said["message"]}
        # It tells no ids of calls.
        return {name: part for name, part in super().parts(by, it).items() if name != "tool_use_id"}

    def tool_input(self, it: Happening) -> dict:
        if it.tool == self.delegate:
            agents = [{"agent_name": it.agent, "query": it.said["query"]}, {"query": it.said["query"]}]
            return {"command": "InvokeSubagents", "content": {"subagents": agents}}
        return super().tool_input(it)

    def result(self, it: Happening) -> dict:
        return {"tool_response": {"success": not it.failed, "result": [it.said["output"]]}}


class Generic(Host):
    name, ledger, delegate = "generic", ledgers.Generic, "InvokeSubagents"
    shell = "shell"
    events = {
        kind: kind
        for kind in (
            *("agentSpawn", "userPromptSubmit", "preToolUse", "permissionRequest", "postToolUse"),
            *("subagentStart", "subagentStop", "stop"),
        )
    } | {"end": "sessionEnd"}

    def payload(self, by: Speaker, it: Happening) -> dict:
        said = super().payload(by, it)
        said["event"] = said.pop("hook_event_name")
        return said | {"agent_name": "dev", "version": "2.0"}

    def parts(self, by: Speaker, it: Happening) -> dict:
        if it.kind == "permissionRequest":
            return {"tool_name": it.tool, "tool_input": {"command": it.said["command"]}, "description": it.said["permission"]}
        parts = super().parts(by, it)
        if it.kind == "stop":
            parts["usage"] = {**by.ledger.tokens, "model": "claude-sonnet-4-6"}
        return parts

    def tool_input(self, it: Happening) -> dict:
        if it.tool == self.delegate:
            return {"targets": [{"agent_name": it.agent, "query": it.said["query"]}]}
        return super().tool_input(it)

    def result(self, it: Happening) -> dict:
        return {"tool_output": {"text": it.said["output"], "exit_code": 1 if it.failed else 0}}


HOSTS: list[Host] = [ClaudeCode(), Codex(), Opencode(), Pi(), Kiro(), Generic()]
