// Plays a host to the plugin files of opencode (both interfaces) and pi, and prints one line a step: what it got.
// usage: node plugins.mjs PLUGIN HOST FOLDER        (PLUGIN is JavaScript: types were taken away)
import { pathToFileURL } from "node:url"

const [, , file, host, folder] = process.argv
const plugin = (await import(pathToFileURL(file))).default

async function step(name, act) {
  try {
    console.log(JSON.stringify([name, "got", (await act()) ?? null]))
  } catch (error) {
    console.log(JSON.stringify([name, "threw", String(error)]))
  }
}

if (host === "pi") {
  const on = {}
  plugin({ on: (name, act) => (on[name] = act) })
  const ctx = {
    cwd: folder, model: { id: "model-1" },
    sessionManager: { getSessionId: () => "pi-1", getSessionFile: () => undefined },
  }
  const call = { toolName: "bash", toolCallId: "call-1", input: { command: "npm test" } }
  const result = { ...call, content: [{ type: "text", text: "canary-output" }], isError: true }
  const said = [
    ["session_start", { reason: "startup" }], ["before_agent_start", { prompt: "canary-prompt" }],
    ["tool_call", call], ["tool_result", result], ["tool_call", { ...call, input: 10n }],
    ["agent_end", {}], ["session_shutdown", {}],
  ]
  for (const [name, event] of said) await step(name, () => on[name](event, ctx))
}

if (host === "opencode-1") {
  const hooks = await plugin.server({ directory: folder })
  const tell = (type, properties) => step(type, () => hooks.event({ event: { type, properties } }))
  const call = { tool: "bash", sessionID: "ses_1", callID: "call-1" }
  const args = { command: "npm test" }
  const prompt = { message: { id: "msg_1" }, parts: [{ type: "text", text: "canary-prompt" }] }
  await tell("session.created", { info: { id: "ses_1", version: "1.18.0" } })
  await step("chat.message", () => hooks["chat.message"]({ sessionID: "ses_1", agent: "build" }, prompt))
  await step("before", () => hooks["tool.execute.before"](call, { args }))
  await step("after", () => hooks["tool.execute.after"]({ ...call, args }, { output: "canary-output", metadata: { exit: 1 } }))
  await step("before", () => hooks["tool.execute.before"](call, { args: { big: 10n } }))
  await tell("session.created", { info: { id: "ses_2", parentID: "ses_1" } })
  await tell("session.idle", { sessionID: "ses_2" })
  await tell("session.idle", { sessionID: "ses_1" })
  await tell("session.deleted", { info: { id: "ses_1" } })
  await tell("server.connected", undefined)
}

if (host === "opencode-2") {
  const told = [
    ["session.created", { sessionID: "ses_3", version: "2.0.8" }],
    ["session.tool.input.started", { sessionID: "ses_3", id: "call-1", name: "bash" }],
    ["session.tool.called", { sessionID: "ses_3", id: "call-1", input: { command: "npm test" } }],
    ["session.tool.success", { sessionID: "ses_3", id: "call-1", content: [], metadata: { exit: 0 } }],
    ["session.tool.input.started", { sessionID: "ses_3", callID: "call-2", name: "task" }],
    ["session.tool.called", { sessionID: "ses_3", callID: "call-2", input: { subagent_type: "explore" } }],
    ["session.tool.failed", { sessionID: "ses_3", callID: "call-2", error: { message: "canary-output" } }],
    ["server.connected", undefined],
    ["session.execution.succeeded", { sessionID: "ses_3" }],
    ["session.deleted", { sessionID: "ses_3" }],
  ]
  async function* subscribe() {
    for (const [type, data] of told) yield { type, data }
  }
  await step("setup", () => plugin.setup({ location: { directory: folder }, event: { subscribe } }))
}
