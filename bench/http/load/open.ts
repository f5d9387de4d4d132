import { expectedAnswer } from "../payload.ts"
import { Samples, tail } from "#bench/http/report/statistics.ts"
import { type Connection, contentCheck } from "./Connection.ts"
import type { OpenJob, OpenResult } from "./Job.ts"
import { chatRequest } from "./request.ts"
import { withRun } from "./Run.ts"

const MAX_CONNECTIONS = 1_024
const INITIAL_CONNECTIONS = 16

/**
 * Sends at a fixed rate. Every latency counts from the moment the request was due, also when the generator or a full
 * connection pool sent it later: a stall of the target is charged to every request that was due during it.
 */
export const open = (job: OpenJob): Promise<OpenResult> =>
  withRun(job.endpoint, job.deadlineMs, async (run) => {
    const request = chatRequest(job.endpoint, { kind: "json" })
    const latencies = new Samples()
    const lags = new Samples()
    const free: Array<Connection> = []
    const waiting: Array<number> = []
    const dueOf = new Map<Connection, number>()
    const period = 1_000 / job.ratePerSecond
    const total = Math.ceil(((job.warmupMs + job.measureMs) / 1_000) * job.ratePerSecond)
    const warm = Math.ceil((job.warmupMs / 1_000) * job.ratePerSecond)
    let sent = 0
    let answered = 0
    let finish: () => void = () => undefined
    const finished = new Promise<void>((resolve) => finish = resolve)

    const done = (connection: Connection): void => {
      const due = dueOf.get(connection) ?? Number.NaN
      if (++answered > warm) latencies.add(performance.now() - due)
      const next = waiting.shift()
      if (next === undefined) free.push(connection)
      else send(connection, next)
      if (answered === total) finish()
    }
    const send = (connection: Connection, due: number): void => {
      dueOf.set(connection, due)
      connection.send(request, contentCheck(expectedAnswer))
    }

    for (let index = 0; index < INITIAL_CONNECTIONS; index++) free.push(run.connect({ done }))
    await run.sleep(50)
    const begun = performance.now()
    const timer = setInterval(() => {
      const now = performance.now()
      for (let due = begun + sent * period; sent < total && due <= now; due = begun + ++sent * period) {
        if (sent >= warm) lags.add(now - due)
        const connection = free.pop() ?? (run.connections < MAX_CONNECTIONS ? run.connect({ done }) : undefined)
        if (connection === undefined) waiting.push(due)
        else send(connection, due)
      }
    }, 1)
    try {
      await run.until(finished)
    } finally {
      clearInterval(timer)
    }
    return {
      kind: "open",
      latencyMs: tail(latencies),
      lagMs: tail(lags),
      requests: total - warm,
      connections: run.connections
    }
  })
