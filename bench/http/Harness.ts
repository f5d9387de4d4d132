/** Mock and load generator as this process sees them: two children that answer messages. */
import type { ChildProcess } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import type { Job, Reply, Result } from "./load/Job.ts"
import { type Child, type Placement, logTail, outputOf, startNode } from "#bench/http/servers/processes.ts"
import { parseWorst, type Worst } from "./translation.ts"
import { type Counted, run as countInstructions, usual } from "#bench/micro/instructions/count.ts"

const ANSWER_TIMEOUT_MS = 10_000
const DEADLINE_SLACK_MS = 10_000
/** For what hangs: the work takes most of a minute on a core of its own, and minutes on a shared one. */
const TRANSLATION_TIMEOUT_MS = 600_000

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** The next message of a child, or an error when it ends or stays silent. */
const nextMessage = (child: Child, name: string, timeoutMs: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const source: ChildProcess = child.process
    const settle = (finish: () => void): void => {
      clearTimeout(timer)
      source.off("message", onMessage)
      source.off("exit", onExit)
      finish()
    }
    const onMessage = (message: unknown): void => settle(() => resolve(message))
    const onExit = (): void => settle(() => reject(new Error(`${name} has ended\n${logTail(child)}`)))
    const timer = setTimeout(() => settle(() => reject(new Error(`${name}: no answer within ${timeoutMs} ms`))), timeoutMs)
    source.on("message", onMessage)
    source.on("exit", onExit)
  })

const numberAt = (message: unknown, name: string): number => {
  const value = isRecord(message) ? message[name] : undefined
  if (typeof value !== "number") throw new Error(`mock: no ${name} in ${JSON.stringify(message)}`)
  return value
}

export interface Harness {
  readonly mockPort: number
  /** Requests that the mock has answered since it was started. */
  readonly upstreamRequests: () => Promise<number>
  /** The dearest pairs of formats, measured without sockets on the target's core. */
  readonly translation: () => Promise<Worst>
  /** Instructions of the gateway's own code, on the target's core. */
  readonly instructions: () => Promise<Counted>
  readonly submit: <K extends Job["kind"]>(job: Extract<Job, { readonly kind: K }>) => Promise<Extract<Result, { readonly kind: K }>>
}

const isReply = (message: unknown): message is Reply => isRecord(message) && typeof message["ok"] === "boolean"

export const start = async (place: Placement, mockPort: number, tickMs: number): Promise<Harness> => {
  const mock = startNode("bench/http/servers/mock.ts", [String(mockPort), String(tickMs)], { name: "mock", cpu: place.rest, ipc: true })
  const port = numberAt(await nextMessage(mock, "mock", ANSWER_TIMEOUT_MS), "port")
  const load = startNode("bench/http/load/main.ts", [], { name: "load", cpu: place.rest, ipc: true })
  await sleep(300)
  return {
    mockPort: port,
    upstreamRequests: async () => {
      const answer = nextMessage(mock, "mock", ANSWER_TIMEOUT_MS)
      mock.process.send("count")
      return numberAt(await answer, "requests")
    },
    translation: async () => {
      const child = startNode("bench/micro/translate.ts", ["--short", "--json"], { name: "translate", cpu: place.target })
      return parseWorst(await outputOf(child, TRANSLATION_TIMEOUT_MS))
    },
    instructions: () => countInstructions({ ...usual, cpu: place.target }),
    submit: async <K extends Job["kind"]>(job: Extract<Job, { readonly kind: K }>) => {
      const answer = nextMessage(load, "load generator", job.deadlineMs + DEADLINE_SLACK_MS)
      load.process.send(job)
      const reply = await answer
      if (!isReply(reply)) throw new Error("load generator: unexpected message")
      if (!reply.ok) throw new Error(reply.error)
      const isKind = (result: Result): result is Extract<Result, { readonly kind: K }> => result.kind === job.kind
      if (!isKind(reply.result)) throw new Error(`load generator: ${reply.result.kind} answered to ${job.kind}`)
      return reply.result
    }
  }
}
