// Written by `tally init`, taken away by `tally uninstall`. Tells tally what happens in a session of pi; whatever goes wrong
// here is no business of pi's.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"
const HOST = "pi"

/** How long tally may take, in milliseconds; what it does not say by then, it does not say. */
const PATIENCE = 10_000

/** What tally answers; nothing where it cannot be told. */
function tell(event: string, ctx: any, more: object = {}): Promise<any> {
  return new Promise<any>((done) => {
    let answer = ""
    const cwd = ctx?.cwd ?? process.cwd()
    const session = ctx?.sessionManager?.getSessionId?.()
    const transcript = ctx?.sessionManager?.getSessionFile?.()
    // First: what cannot be written as JSON must not leave a program behind that waits for it.
    const said = JSON.stringify({
      hook_event_name: event, session_id: session, transcript_path: transcript, cwd, ...more,
    })
    const hook = spawn(PROGRAM, ["hook", HOST], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const late = setTimeout(() => {
      hook.kill("SIGKILL")
      hook.stdin.destroy()
      hook.stdout.destroy()
      done("")
    }, PATIENCE)
    const end = (answer: string) => {
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
    .then((answer) => JSON.parse(answer || "{}"))
    .catch(() => ({}))
}

function call(event: any) {
  return { tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input }
}

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => void (await tell("SessionStart", ctx)))
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const reply = await tell("UserPromptSubmit", ctx, { prompt: event.prompt, model: ctx?.model?.id })
    if (reply.context) return { message: { customType: "tally", content: reply.context, display: true } }
  })
  pi.on("tool_call", async (event: any, ctx: any) => {
    const reply = await tell("PreToolUse", ctx, call(event))
    if (reply.allow === false) return { block: true, reason: reply.reason }
  })
  pi.on("tool_result", async (event: any, ctx: any) => {
    const response = { content: event.content, is_error: event.isError }
    await tell("PostToolUse", ctx, { ...call(event), tool_response: response })
  })
  pi.on("agent_end", async (_event: any, ctx: any) => void (await tell("Stop", ctx)))
  pi.on("session_shutdown", async (_event: any, ctx: any) => void (await tell("SessionEnd", ctx)))
}
