// Written by `tally init`, taken away by `tally uninstall`. Tells tally what happens in a session of opencode; whatever goes
// wrong here is no business of opencode's.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const HOST = "opencode"

/** Sessions that another session started: their end is no stop of it. */
const children = new Set()

/** Done when tally has been told, or cannot be. */
function tell(event, session, cwd, more = {}) {
  return new Promise((done) => {
    const hook = spawn(PROGRAM, ["hook", HOST], { cwd, stdio: ["pipe", "ignore", "ignore"] })
    hook.on("error", done)
    hook.stdin.on("error", done)
    hook.stdin.end(JSON.stringify({ hook_event_name: event, session_id: session, cwd, ...more }), done)
  }).catch(() => {})
}

function born(session, parent, cwd) {
  if (!parent) return tell("SessionStart", session, cwd)
  children.add(session)
}

function rests(session, cwd) {
  return tell(children.has(session) ? "SubagentStop" : "Stop", session, cwd)
}

/** Version 1 of the plugin interface. */
const server = async ({ directory }) => ({
  event: async ({ event }) => {
    const { info, sessionID } = event.properties ?? {}
    if (event.type === "session.created") await born(info?.id, info?.parentID, directory)
    if (event.type === "session.idle") await rests(sessionID, directory)
    if (event.type === "session.deleted") await tell("SessionEnd", info?.id ?? sessionID, directory)
  },
  "chat.message": async (input) => tell("UserPromptSubmit", input.sessionID, directory),
  "tool.execute.before": async (input) => tell("PreToolUse", input.sessionID, directory, { tool_name: input.tool }),
  "tool.execute.after": async (input) => tell("PostToolUse", input.sessionID, directory, { tool_name: input.tool }),
})

/** Version 2. */
const setup = async (ctx) => {
  if (typeof ctx?.event?.subscribe !== "function") return
  const cwd = ctx.location?.directory
  const stopped = ["session.execution.succeeded", "session.execution.failed", "session.execution.interrupted"]
  const listen = async () => {
    for await (const event of ctx.event.subscribe()) {
      const data = event.data ?? {}
      if (event.type === "session.created") await born(data.sessionID, data.parentID, cwd)
      if (stopped.includes(event.type)) await rests(data.sessionID, cwd)
      if (event.type === "session.deleted") await tell("SessionEnd", data.sessionID, cwd)
      if (event.type === "session.tool.input.started") await tell("PreToolUse", data.sessionID, cwd, { tool_name: data.name })
    }
  }
  listen().catch(() => {})
}

export default { id: "tally", server, setup }
