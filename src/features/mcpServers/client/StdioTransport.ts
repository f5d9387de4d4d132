/**
 * A program of the operator's on this machine, one JSON-RPC message per line. It runs without a shell, gets no variable of the
 * gateway but those that find programs and files, and ends with its scope, together with what it started.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StdioAddress } from "#src/features/mcpServers/ports/McpServer.ts"
import { end, environmentOf, tell } from "#src/platform/programs/process.ts"
import { failure, type McpFailure, type Message, MESSAGE_MAX, messagesOf } from "./messages.ts"
import type { Transport } from "./Peer.ts"

/** A program that was told to end gets this long before it is told harder, ms. */
const GRACE_MS = 1_500
const LF = 0x0a
/** Bytes that may wait for a program that does not read. */
const QUEUE_MAX = 8 * 1024 * 1024

export interface Options {
  readonly address: StdioAddress
  readonly mask: (text: string) => string
}

export const make = ({ address, mask }: Options, heard: (message: Message) => void): Effect.Effect<Transport, McpFailure, Scope.Scope> => Effect.gen(function*() {
  const lost = yield* Deferred.make<never, McpFailure>()
  const exited = yield* Deferred.make<void>()
  const lose = (problem: McpFailure): void => {
    Deferred.doneUnsafe(lost, Effect.fail(problem))
  }

  const start = Effect.callback<ChildProcess, McpFailure>((resume) => {
    const child = spawn(address.command, [...address.args], { env: environmentOf(process.env, address.env), stdio: ["pipe", "pipe", "pipe"], detached: true })
    child.once("error", (error: NodeJS.ErrnoException) => {
      const problem = failure("not_started", mask(`The program ${address.command} could not be started (${error.code ?? "error"})`))
      Deferred.doneUnsafe(exited, Effect.void)
      lose(problem)
      resume(Effect.fail(problem))
    })
    child.once("exit", (code, signal) => {
      Deferred.doneUnsafe(exited, Effect.void)
      lose(failure("closed", `The program ended (${signal ?? `exit ${code ?? 0}`})`))
    })
    child.once("spawn", () => resume(Effect.succeed(child)))
  })

  const stop = (child: ChildProcess) => Effect.gen(function*() {
    child.stdin?.end()
    const gone = Effect.timeoutOption(Deferred.await(exited), GRACE_MS)
    if ((yield* gone)._tag === "None") return yield* end(child, Deferred.await(exited), GRACE_MS)
    // What it started may have outlived it.
    tell(child, "SIGKILL")
  })

  const child = yield* Effect.acquireRelease(start, stop)

  let held: Array<Buffer> = []
  let bytes = 0
  const line = (text: string): void => {
    if (text.trim() === "") return
    const messages = messagesOf(mask(text))
    // Programs print what is no message, too.
    for (const message of messages ?? []) heard(message)
  }
  child.stdout?.on("data", (chunk: Buffer) => {
    let from = 0
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      const text = held.length === 0 ? chunk.toString("utf8", from, at) : Buffer.concat([...held, chunk.subarray(from, at)]).toString("utf8")
      held = []
      bytes = 0
      from = at + 1
      line(text)
    }
    if (from === chunk.length) return
    bytes += chunk.length - from
    if (bytes > MESSAGE_MAX) {
      lose(failure("too_large", `The program wrote a line of more than ${MESSAGE_MAX} bytes`))
      tell(child, "SIGKILL")
    } else held.push(Buffer.from(chunk.subarray(from)))
  })
  // What it says of itself may hold anything; it is read so that it does not stand still.
  child.stderr?.resume()
  child.stdin?.on("error", () => lose(failure("closed", "The program does not read any more")))

  return {
    answersWhileSending: false,
    send: (message) => Effect.suspend(() => {
      const { stdin } = child
      if (stdin === null || !stdin.writable) return Effect.fail(failure("closed", "The program does not read any more"))
      if (stdin.writableLength > QUEUE_MAX) return Effect.fail(failure("unavailable", "The program does not read what it was sent"))
      stdin.write(`${JSON.stringify(message)}\n`)
      return Effect.void
    }),
    listen: Effect.never,
    lost: Deferred.await(lost),
    end: Effect.void,
    agreed: () => undefined
  }
})
