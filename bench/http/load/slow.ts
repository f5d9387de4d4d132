import { expectedStream } from "../payload.ts"
import { type Connection, contentCheck } from "./Connection.ts"
import type { SlowJob, SlowResult } from "./Job.ts"
import { chatRequest } from "./request.ts"
import { withRun } from "./Run.ts"

const TURN_MS = 20
const GROUPS = 5
const BYTES_PER_TURN = 128 * 1024

interface Reader {
  readonly connection: Connection
  readonly group: number
  /** Bytes it may still read in its turn. */
  allowance: number
}

/**
 * Readers that let every buffer on the way fill up before they start, and then read by turns. The target must hold back
 * its upstream, keep its memory small, and lose nothing: every byte is compared.
 */
export const slow = (job: SlowJob): Promise<SlowResult> =>
  withRun(job.endpoint, job.deadlineMs, async (run) => {
    const expected = expectedStream(job.script)
    const request = chatRequest(job.endpoint, job.script)
    const readers = new Set<Reader>()
    let comments = 0
    let bytes = 0
    let finish: () => void = () => undefined
    const finished = new Promise<void>((resolve) => finish = resolve)
    const rssBeforeKb = run.residentKb()
    const begun = performance.now()
    const memory = run.watchMemory()

    for (let index = 0; index < job.readers; index++) {
      const check = contentCheck(expected)
      const reader: Reader = {
        group: index % GROUPS,
        allowance: 0,
        connection: run.connect({
          received: (_, length) => {
            bytes += length
            reader.allowance -= length
            return reader.allowance > 0
          },
          done: (connection) => {
            comments += check.comments
            readers.delete(reader)
            run.release(connection)
            if (readers.size === 0) finish()
          }
        })
      }
      readers.add(reader)
      reader.connection.send(request, check)
    }
    await run.sleep(job.stallMs)
    let turn = 0
    const timer = setInterval(() => {
      turn++
      for (const reader of readers) {
        if (reader.group !== turn % GROUPS) continue
        reader.allowance = BYTES_PER_TURN
        reader.connection.resume()
      }
    }, TURN_MS)
    try {
      await run.until(finished)
    } finally {
      clearInterval(timer)
    }
    const rssPeakKb = Math.max(...memory.stop())
    return { kind: "slow", bytes, elapsedMs: performance.now() - begun, rssBeforeKb, rssPeakKb, comments }
  })
