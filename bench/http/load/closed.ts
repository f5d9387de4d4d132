import { expectedOf } from "../payload.ts"
import { type Connection, contentCheck, readCount } from "./Connection.ts"
import type { ClosedJob, ClosedResult } from "./Job.ts"
import { requestOf } from "./request.ts"
import { withRun } from "./Run.ts"

/** Fewer say more about compiling and about one garbage collection than about a request. */
const ENOUGH_RESPONSES = 300
const ENOUGH_SOUNDS = 32

/** Saturates a target: each connection sends its next request as soon as the last answer was verified. */
export const closed = (job: ClosedJob): Promise<ClosedResult> =>
  withRun(job.endpoint, job.deadlineMs, async (run) => {
    const { beside, endpoint, script } = job
    const expected = expectedOf(script, endpoint.modelPrefix)
    const eventsPerByte = "events" in script ? script.events / expected.bytes.length : 0
    const request = requestOf(endpoint, script)
    let requests = 0
    let bytes = 0
    let comments = 0
    let stopping = false
    let busy = 0
    let idle: () => void = () => undefined
    const drained = new Promise<void>((resolve) => idle = resolve)

    const next = (connection: Connection): void => {
      const check = contentCheck(expected)
      connection.send(request, {
        feed: (data, start, end) => check.feed(data, start, end),
        finish: () => {
          comments += check.comments
          return check.finish()
        }
      })
    }
    for (let index = 0; index < job.concurrency; index++) {
      busy++
      next(run.connect({
        received: (_, length) => {
          bytes += length
          return true
        },
        done: (connection) => {
          requests++
          if (!stopping) return next(connection)
          run.release(connection)
          if (--busy === 0) idle()
        }
      }))
    }

    if (beside !== undefined) {
      const request = requestOf(beside, script)
      const again = (connection: Connection): void => connection.send(request, contentCheck(expectedOf(script, beside.modelPrefix)))
      for (let index = 0; index < job.concurrency; index++) {
        busy++
        again(run.connect({
          done: (connection) => {
            if (!stopping) return again(connection)
            run.release(connection)
            if (--busy === 0) idle()
          }
        }, beside))
      }
    }

    await run.sleep(job.warmupMs)
    const begun = performance.now()
    const before = { requests, bytes, reads: readCount(), cpu: run.cpu(), mainCpu: run.mainCpu() }
    await run.window(job.measureMs, () => bytes - before.bytes, (script.kind === "sound" ? ENOUGH_SOUNDS : ENOUGH_RESPONSES) * expected.bytes.length)
    const cpuNs = run.cpu() - before.cpu
    const mainCpuNs = run.mainCpu() - before.mainCpu
    const windowMs = performance.now() - begun
    const measured = { requests: requests - before.requests, bytes: bytes - before.bytes, reads: readCount() - before.reads }
    stopping = true
    await run.until(drained)
    const { requests: answered, reads: taken } = measured
    const events = measured.bytes * eventsPerByte
    return { kind: "closed", requests: answered, events, bytes: measured.bytes, reads: taken, windowMs, cpuNs, mainCpuNs, comments }
  })
