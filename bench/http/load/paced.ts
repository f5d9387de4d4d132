import { clockMicros, expectedStream } from "../payload.ts"
import { median, Samples, tail } from "#bench/http/report/statistics.ts"
import { type BodyCheck, contentCheck } from "./Connection.ts"
import type { PacedJob, PacedResult } from "./Job.ts"
import { MessagesCheck } from "./MessagesCheck.ts"
import { chatRequest, messagesRequest } from "./request.ts"
import { withRun } from "./Run.ts"
import { askInFrames } from "./socket.ts"

const RAMP_STEP_MS = 10

/** Opens many paced streams, measures while all of them run, then reads and verifies every one to its end. */
export const paced = (job: PacedJob): Promise<PacedResult> =>
  withRun(job.endpoint, job.deadlineMs, async (run) => {
    const expected = expectedStream(job.script)
    const request = job.format === "messages" ? messagesRequest(job.endpoint, job.script) : chatRequest(job.endpoint, job.script)
    const delays = new Samples()
    let events = 0
    let comments = 0
    let measuring = false
    let begunStreams = 0
    let endedStreams = 0
    let allBegun: () => void = () => undefined
    let allEnded: () => void = () => undefined
    const begun = new Promise<void>((resolve) => allBegun = resolve)
    const ended = new Promise<void>((resolve) => allEnded = resolve)

    const check = (): BodyCheck => {
      // The first event, not the first bytes: a stream that waits for its upstream is kept alive.
      let first = true
      const onStamp = (stamp: number): void => {
        events++
        if (first && ++begunStreams === job.streams) allBegun()
        first = false
        if (measuring) delays.add((clockMicros() - stamp) / 1_000)
      }
      if (job.format === "messages") return new MessagesCheck(job.script, onStamp)
      const content = contentCheck(expected, onStamp)
      return {
        feed: (data, start, end) => content.feed(data, start, end),
        finish: () => {
          comments += content.comments
          return content.finish()
        }
      }
    }
    const sockets: Array<() => void> = []
    const openSocket = (): void => {
      sockets.push(askInFrames(run, job.script, check(), () => {
        if (++endedStreams === job.streams) allEnded()
      }))
    }
    const openOne = (): void => {
      if (job.format === "socket") return openSocket()
      run.connect({
        done: (connection) => {
          run.release(connection)
          if (++endedStreams === job.streams) allEnded()
        }
      }).send(request, check())
    }

    const rssBeforeKb = run.residentKb()
    const steps = Math.max(1, Math.floor(job.rampMs / RAMP_STEP_MS))
    for (let step = 0, opened = 0; step < steps; step++) {
      for (const goal = Math.round((job.streams * (step + 1)) / steps); opened < goal; opened++) openOne()
      await run.sleep(RAMP_STEP_MS)
    }
    await run.until(begun)
    await run.sleep(job.warmupMs)

    const start = performance.now()
    const before = { events, cpu: run.cpu(), mainCpu: run.mainCpu() }
    const memory = run.watchMemory()
    measuring = true
    await run.window(job.measureMs, () => events - before.events, 1)
    measuring = false
    const cpuNs = run.cpu() - before.cpu
    const mainCpuNs = run.mainCpu() - before.mainCpu
    const windowMs = performance.now() - start
    const measured = events - before.events
    const rssDuringKb = median(memory.stop())
    const endedEarly = endedStreams
    await run.until(ended)
    for (const close of sockets) close()
    return { kind: "paced", events: measured, endedEarly, windowMs, cpuNs, mainCpuNs, delayMs: tail(delays), rssBeforeKb, rssDuringKb, comments }
  })
