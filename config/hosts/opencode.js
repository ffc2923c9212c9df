// Written by `tally init`, taken away by `tally uninstall`. Tells tally what happens in a session of opencode; whatever goes
// wrong here is no business of opencode's.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const HOST = "opencode"

/** How long tally may take, in milliseconds; what it does not say by then, it does not say. */
const PATIENCE = 10_000

/** Sessions that another session started: their end is no stop of it. */
const children = new Set()

/** What the agent is to be told with its next prompt, by session. */
const waiting = new Map()

/** What tally answers; nothing where it cannot be told. */
function tell(event, session, cwd, more = {}) {
  return new Promise((done) => {
    let answer = ""
    // First: what cannot be written as JSON must not leave a program behind that waits for it.
    const said = JSON.stringify({ hook_event_name: event, session_id: session, cwd, ...more })
    const hook = spawn(PROGRAM, ["hook", HOST], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const late = setTimeout(() => {
      hook.kill("SIGKILL")
      hook.stdin.destroy()
      hook.stdout.destroy()
      done("")
    }, PATIENCE)
    const end = (answer) => {
      clearTimeout(late)
      done(answer)
    }
    hook.on("error", () => end(""))
    hook.on("close", () => end(answer))
    hook.stdout.setEncoding("utf8")
    hook.stdout.on("data", (part) => (answer += part))
    hook.stdin.on("error", () => {})
    hook.stdin.end(said)
  })
    .then((answer) => {
      const reply = JSON.parse(answer || "{}")
      if (reply.context) waiting.set(session, [waiting.get(session), reply.context].filter(Boolean).join("\n"))
      return reply
    })
    .catch(() => ({}))
}

function born(session, parent, cwd, version) {
  if (!parent) return tell("SessionStart", session, cwd, { version })
  children.add(session)
}

async function rests(session, cwd, client) {
  const reply = await tell(children.has(session) ? "SubagentStop" : "Stop", session, cwd)
  if (reply.allow !== false || reply.stuck) return
  // A session that rests cannot be kept from it, but it can be asked to go on.
  const body = { parts: [{ type: "text", text: reply.reason, synthetic: true }] }
  await client?.session?.promptAsync?.({ path: { id: session }, query: { directory: cwd }, body })?.catch?.(() => {})
}

/** What the user wrote, of the parts of a message. */
function text(parts) {
  return parts?.filter((part) => part.type === "text").map((part) => part.text).join("\n")
}

/** Version 1 of the plugin interface. */
const server = async ({ directory, client }) => ({
  event: async ({ event }) => {
    const { info, sessionID } = event.properties ?? {}
    if (event.type === "session.created") await born(info?.id, info?.parentID, directory, info?.version)
    if (event.type === "session.idle") await rests(sessionID, directory, client)
    if (event.type === "session.deleted") await tell("SessionEnd", info?.id ?? sessionID, directory)
  },
  "chat.message": async (input, output) => {
    const model = input.model && `${input.model.providerID}/${input.model.modelID}`
    const said = { agent_type: input.agent, model, turn_id: input.messageID, prompt: text(output?.parts) }
    await tell("UserPromptSubmit", input.sessionID, directory, said)
    const context = waiting.get(input.sessionID)
    if (!context || !output?.message) return
    waiting.delete(input.sessionID)
    const place = { id: `prt_tally${Date.now()}`, sessionID: input.sessionID, messageID: output.message.id }
    output.parts.push({ ...place, type: "text", text: context, synthetic: true })
  },
  "tool.execute.before": async (input, output) => {
    const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output?.args }
    const reply = await tell("PreToolUse", input.sessionID, directory, call)
    if (reply.allow === false) throw new Error(reply.reason)
  },
  "tool.execute.after": async (input, output) => {
    const response = { output: output?.output, exitCode: output?.metadata?.exit, error: output?.metadata?.error }
    const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args, tool_response: response }
    await tell("PostToolUse", input.sessionID, directory, call)
  },
})

/** Version 2. */
const setup = async (ctx) => {
  if (typeof ctx?.event?.subscribe !== "function") return
  const cwd = ctx.location?.directory
  const ended = ["session.tool.success", "session.tool.failed"]
  /** Calls that did not end yet, by their ids: their end tells neither tool nor input. */
  const open = new Map()
  // Early releases say `callID`.
  const idOf = (data) => data.id ?? data.callID
  const stopped = ["session.execution.succeeded", "session.execution.failed", "session.execution.interrupted"]
  const listen = async () => {
    for await (const event of ctx.event.subscribe()) {
      const data = event.data ?? {}
      if (event.type === "session.created") await born(data.sessionID, data.parentID, cwd, data.version)
      if (stopped.includes(event.type)) await rests(data.sessionID, cwd)
      if (event.type === "session.deleted") await tell("SessionEnd", data.sessionID, cwd)
      if (event.type === "session.tool.input.started") open.set(idOf(data), { tool_name: data.name })
      if (event.type === "session.tool.called") {
        const call = { ...open.get(idOf(data)), tool_use_id: idOf(data), tool_input: data.input }
        open.set(idOf(data), call)
        await tell("PreToolUse", data.sessionID, cwd, call)
      }
      if (ended.includes(event.type)) {
        const call = open.get(idOf(data)) ?? { tool_use_id: idOf(data) }
        open.delete(idOf(data))
        const details = data.metadata ?? data.structured
        const failed = event.type === "session.tool.failed"
        const response = { output: data.content, exitCode: details?.exit, error: data.error, failed }
        await tell("PostToolUse", data.sessionID, cwd, { ...call, tool_response: response })
      }
    }
  }
  listen().catch(() => {})
}

export default { id: "tally", server, setup }
