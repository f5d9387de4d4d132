/** WebSockets of the load generator: requests in frames, and sockets that only stay open. */
import { WebSocket } from "ws"
import { modelOf, type Script } from "../payload.ts"
import type { BodyCheck } from "./Connection.ts"
import type { Endpoint, IdleJob, IdleResult } from "./Job.ts"
import { messages } from "./request.ts"
import { type Run, withRun } from "./Run.ts"
import { median } from "#bench/http/report/statistics.ts"

const frameStart = Buffer.from("{\"type\":\"response.chunk\",\"id\":\"1\",\"data\":")
const eventStart = Buffer.from("data: ")
const eventEnd = Buffer.from("\n\n")
const lastEvent = Buffer.from("data: [DONE]\n\n")
/** Sockets that are opened at once: a listening queue is bounded. */
const OPENED_AT_ONCE = 50

const open = ({ apiKey, basePath, host, port }: Endpoint): WebSocket =>
  new WebSocket(`ws://${host}:${port}${basePath}/ws`, { headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }, perMessageDeflate: false })

/** Asks for one stream in a frame; what its frames hold is checked as the events of a stream. `done` after the last frame. */
export const askInFrames = (run: Run, script: Script, check: BodyCheck, done: () => void): (() => void) => {
  const socket = open(run.endpoint)
  let over = false
  const feed = (bytes: Buffer): void => {
    const problem = check.feed(bytes, 0, bytes.length)
    if (problem !== null) run.fail(problem)
  }
  socket.on("open", () => socket.send(JSON.stringify({
    type: "request", id: "1",
    payload: { model: run.endpoint.modelPrefix + modelOf(script), messages, stream: true, stream_options: { include_usage: true } }
  })))
  socket.on("message", (data: Buffer) => {
    if (data.subarray(0, frameStart.length).equals(frameStart)) {
      feed(Buffer.concat([eventStart, data.subarray(frameStart.length, -1), eventEnd]))
      return
    }
    const { error, type } = JSON.parse(data.toString("utf8")) as { readonly type: string; readonly error?: unknown }
    if (type === "response.error") run.fail(`a request in a frame failed: ${JSON.stringify(error)}`)
    if (type !== "response.done") return
    feed(lastEvent)
    const problem = check.finish()
    if (problem !== null) run.fail(problem)
    over = true
    socket.close()
    done()
  })
  socket.on("error", (error) => run.fail(error.message))
  socket.on("close", (code) => {
    if (!over && !run.over) run.fail(`the socket closed with ${code}`)
  })
  return () => socket.terminate()
}

/** Opens sockets that send nothing, and measures what they cost. */
export const idle = (job: IdleJob): Promise<IdleResult> =>
  withRun(job.endpoint, job.deadlineMs, async (run) => {
    const sockets: Array<WebSocket> = []
    const opened = (): Promise<void> => new Promise((resolve, reject) => {
      const socket = open(job.endpoint)
      sockets.push(socket)
      socket.once("open", () => resolve())
      socket.once("error", reject)
      socket.on("close", (code) => {
        if (!run.over) run.fail(`an idle socket closed with ${code}`)
      })
    })
    try {
      const rssBeforeKb = run.residentKb()
      while (sockets.length < job.sockets) {
        await run.until(Promise.all(Array.from({ length: Math.min(OPENED_AT_ONCE, job.sockets - sockets.length) }, opened)))
      }
      await run.sleep(job.warmupMs)
      const memory = run.watchMemory()
      const before = run.cpu()
      const start = performance.now()
      await run.sleep(job.measureMs)
      const windowMs = performance.now() - start
      return { kind: "idle", cpuNs: run.cpu() - before, windowMs, rssBeforeKb, rssDuringKb: median(memory.stop()) }
    } finally {
      run.close()
      for (const socket of sockets) socket.terminate()
    }
  })
