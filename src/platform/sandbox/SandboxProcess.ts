/**
 * A closed process that runs handlers, one after the other. It ends with its scope or with the gateway.
 *
 * Four walls, each enough for what it keeps out: the kernel opens nothing for the process any more (`seal.ts`: network, files, programs);
 * Node's permission model refuses files, programs, threads and native code; a handler sees the language alone (`inside.cjs`); and the
 * process has no variable, no argument and no file of the gateway. A machine on which the first wall cannot be proved runs nothing.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Seal from "./seal.ts"

const MEBI = 1_024 * 1_024
/** Bytes that a handler may use. */
const MEMORY_BYTES = 256 * MEBI
/** Of them, MB in V8's heap of old objects. */
const HEAP_MB = 192
/** Until the process is there and closed, ms. */
const START_MS = 30_000
/** Characters of an output's JSON. */
export const OUTPUT_MAX = 256 * 1_024
/** Bytes that are read of the process: the output in UTF-8, and the letter before it. */
const READ_MAX = OUTPUT_MAX * 3 + 16
const LF = 0x0a

/** JSON texts beside the code: the handler gets what they say. */
export interface Job {
  /** Absent: the code of the job before, in the same process. */
  readonly code?: string
  /** The exported function that is called; `""` asks for their names. Absent: the code is one handler. */
  readonly name?: string
  readonly input: string
  readonly context: string
}

export type Outcome =
  | { readonly _tag: "Output"; readonly json: string }
  | { readonly _tag: "Failed"; readonly message: string }
  | { readonly _tag: "TimedOut" }

export interface SandboxProcess {
  /** Runs one job; another one must have ended. The outcome is hostile: its JSON must be checked. */
  readonly ask: (job: Job) => Effect.Effect<Outcome>
  /** The process has ended, or must not be asked again. */
  readonly isOver: () => boolean
}

const failed = (message: string): Outcome => ({ _tag: "Failed", message })

let inside: string | undefined
const program = (): string => inside ??= fs.readFileSync(new URL("./inside.cjs", import.meta.url), "utf8")

/** V8's cache of compiled code would keep the context of each call that is a module. */
const flags = [
  "--permission", "--frozen-intrinsics", "--no-compilation-cache", "--disallow-code-generation-from-strings", "--experimental-vm-modules", "--unhandled-rejections=none", "--no-warnings",
  `--max-old-space-size=${HEAP_MB}`, "--max-semi-space-size=8"
]

/** setpriv(1) ends the process with its gateway, also one that is killed, and keeps rights from coming back. */
const start = (setpriv: string) => Effect.callback<ChildProcess, Seal.Unsealed>((resume) => {
  const rights = process.getuid?.() === 0 ? ["--bounding-set=-all", "--inh-caps=-all"] : []
  const child = spawn(setpriv, ["--pdeathsig", "KILL", "--no-new-privs", ...rights, "--", process.execPath, ...flags, "-e", program()], {
    cwd: "/", env: {}, shell: false, stdio: ["pipe", "pipe", "ignore"]
  })
  child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(new Seal.Unsealed({ message: `the sandbox cannot be started (${error.code ?? "error"})` }))))
  child.once("spawn", () => resume(Effect.succeed(child)))
})

/** Until it is reaped. */
const stop = (child: ChildProcess) => Effect.callback<void>((resume) => {
  if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
  child.once("exit", () => resume(Effect.void))
  child.kill("SIGKILL")
})

const read = (line: string): Outcome => {
  const json = line.slice(1)
  if (line.startsWith("o")) return json.length > OUTPUT_MAX ? failed(tooLarge) : { _tag: "Output", json }
  try {
    const message: unknown = line.startsWith("e") ? JSON.parse(json) : null
    if (typeof message === "string") return failed(message)
  } catch {
    // Below.
  }
  return failed(broken)
}

const tooLarge = `The output has more than ${OUTPUT_MAX} characters of JSON.`
const broken = "The handler broke its sandbox."

/** Why a process ended without a line. */
const endOf = (signal: NodeJS.Signals | null): string => signal === null
  ? "The handler ended its sandbox without an output."
  : signal === "SIGXCPU"
  ? "The handler used too much time of the processor."
  : `The sandbox ended with ${signal}: the handler used more than ${MEMORY_BYTES / MEBI} MB, or broke it.`

const opened = Effect.fnUntraced(function*(cpuSeconds: number) {
  const child = yield* Effect.acquireRelease(Effect.flatMap(Seal.program("setpriv"), start), stop)
  const { pid, stdin, stdout } = child
  if (pid === undefined || stdin === null || stdout === null) return yield* new Seal.Unsealed({ message: "the sandbox cannot be started" })
  const ready = yield* Deferred.make<boolean>()
  let isReady = false
  let isOver = false
  let asked: Deferred.Deferred<Outcome> | null = null
  let held: Array<Buffer> = []
  let bytes = 0

  const say = (outcome: Outcome): void => {
    if (asked !== null) Deferred.doneUnsafe(asked, Effect.succeed(outcome))
    asked = null
  }
  const end = (outcome: Outcome): void => {
    isOver = true
    held = []
    Deferred.doneUnsafe(ready, Effect.succeed(false))
    say(outcome)
    child.kill("SIGKILL")
  }

  stdout.on("data", (chunk: Buffer) => {
    if (isOver) return
    held.push(chunk)
    bytes += chunk.length
    if (bytes > READ_MAX) return end(failed(tooLarge))
    if (chunk[chunk.length - 1] !== LF) return
    const line = Buffer.concat(held).toString("utf8").trimEnd()
    held = []
    bytes = 0
    if (!isReady) {
      isReady = true
      Deferred.doneUnsafe(ready, Effect.succeed(true))
    } else if (asked === null || line.includes("\n")) end(failed(broken))
    else say(read(line))
  })
  // A process that is gone reads no more; its end says why.
  stdin.on("error", () => {})
  child.once("close", (_code, signal) => end(failed(endOf(signal))))

  if (!(yield* Deferred.await(ready))) return yield* new Seal.Unsealed({ message: "the sandbox ended before it was ready: Node 22.13 or later is needed" })
  yield* Seal.close(pid, { memoryBytes: MEMORY_BYTES, cpuSeconds })
  return {
    ask: (job) => Effect.suspend(() => {
      if (isOver) return Effect.succeed(failed("The sandbox has ended."))
      const answer = Deferred.makeUnsafe<Outcome>()
      asked = answer
      stdin.write(`${JSON.stringify(job)}\n`)
      return Deferred.await(answer)
    }),
    isOver: () => isOver
  } satisfies SandboxProcess
})

/** `cpuSeconds`: of the processor, over all its jobs. */
export const open = (cpuSeconds: number) => Effect.timeoutOrElse(opened(cpuSeconds), {
  duration: START_MS, orElse: () => Effect.fail(new Seal.Unsealed({ message: `the sandbox was not ready within ${START_MS / 1_000} s` }))
})
