/** What the chaos suites share: a world of a simulator and a spawned gateway, seeded chance, and measured moments. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { CallLog } from "#src/features/usage/api.ts"
import type * as Simulator from "#src/simulator/Simulator.ts"
import { type Options, type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

export { chance } from "#test/support/chance.ts"

export const CREDENTIAL = "canary_Chaos7xQ2vCredentialOfTheWorld"

export interface World {
  readonly sim: Sim
  readonly gateway: Spawned
  readonly node: string
  readonly call: (chat: { readonly model: string; readonly [field: string]: unknown }, headers?: Readonly<Record<string, string>>) => Http.Call
  readonly close: () => Promise<void>
}

export const startWorld = async (options: Options = {}): Promise<World> => {
  const sim = await startSim({ models: { "*": {} } })
  try {
    const gateway = await spawned(options)
    // These tests are about aborts and crashes: the faults of one must not close the door for the next.
    await gateway.operator.letFailuresPass()
    const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
    return {
      sim, gateway, node,
      call: (chat, headers = {}) => ({ path: "/v1/chat/completions", headers, body: { messages, ...chat, model: `lab/${chat.model}` } }),
      close: async () => {
        await gateway.close()
        await sim.stop()
      }
    }
  } catch (error) {
    await sim.stop()
    throw error
  }
}

export const quantile = (values: ReadonlyArray<number>, q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0

/** How late this very process was meanwhile: what a shared machine adds to any measured delay. */
export const watchLoop = () => {
  const histogram = monitorEventLoopDelay({ resolution: 5 })
  histogram.enable()
  return () => {
    histogram.disable()
    return histogram.max / 1e6
  }
}

export const inParallel = async <A>(workers: number, tasks: ReadonlyArray<() => Promise<A>>): Promise<ReadonlyArray<A>> => {
  const results: Array<A> = []
  let at = 0
  await Promise.all(Array.from({ length: workers }, async () => {
    while (at < tasks.length) {
      const index = at++
      results[index] = await (tasks[index] as () => Promise<A>)()
    }
  }))
  return results
}

/** What is wrong between the rows of one request and what the simulator saw of it; empty when they agree. */
export const disagreements = (entries: ReadonlyArray<Simulator.TruthEntry>, rows: ReadonlyArray<CallLog>, clientLeft: boolean): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const attempts = [...rows].sort((a, b) => a.attempt - b.attempt)
  if (new Set(attempts.map((row) => row.id)).size !== attempts.length) wrong.push("an attempt has two rows")
  if (attempts.some((row, index) => row.attempt !== index + 1)) wrong.push(`attempts are numbered ${attempts.map((row) => row.attempt).join(", ")}`)
  // An attempt that was cut before its first byte left has a row and no entry.
  const extra = attempts.length - entries.length
  if (extra < 0) wrong.push(`${entries.length} calls arrived, ${attempts.length} have rows`)
  if (extra > 1 || (extra === 1 && attempts.at(-1)?.outcome !== "client-abort")) {
    wrong.push(`${attempts.length} rows for ${entries.length} calls: ${attempts.map((row) => row.outcome).join(", ")}`)
  }
  for (const [index, entry] of entries.entries()) {
    const outcome = attempts[index]?.outcome ?? "none"
    const expected = entry.outcome === "client-aborted"
      ? []
      : entry.outcome === "completed"
      ? [entry.status !== null && entry.status < 300 ? "completed" : "upstream-status"]
      : ["upstream-reset"]
    const allowed = clientLeft ? [...expected, "client-abort"] : expected
    if (!allowed.includes(outcome)) wrong.push(`call ${index + 1} ended '${entry.outcome}' (${entry.status}), its row says '${outcome}'`)
  }
  for (const row of attempts) {
    if (row.outcome === "client-abort" && row.status !== 499) wrong.push(`a client-abort row has status ${row.status}`)
  }
  return wrong
}
