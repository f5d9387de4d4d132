/** A batch beside the same requests sent directly, as many at once: lines per second, and what its lines hold of memory. */
import * as http from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Endpoint } from "#bench/http/load/Job.ts"
import { messages } from "#bench/http/load/request.ts"
import { modelOf } from "#bench/http/payload.ts"
import { treeResidentKb } from "#bench/http/servers/ProcFs.ts"
import { deadline, type Scenario, warm } from "#bench/http/Scenario.ts"
import { BATCH_CONCURRENCY } from "#bench/http/targets/gateway.ts"
import { formOf, send, textAt } from "./calls.ts"

const LOOK_MS = 100
const REST_MS = 1_500
/** A line takes no longer than this, ms; a run that is slower has failed. */
const LINE_MS = 20

const inputOf = ({ modelPrefix }: Endpoint, count: number): Buffer => {
  const body = { model: modelPrefix + modelOf({ kind: "json" }), messages }
  const lines: Array<string> = []
  for (let n = 0; n < count; n++) lines.push(`${JSON.stringify({ custom_id: `line-${n}`, method: "POST", url: "/v1/chat/completions", body })}\n`)
  return Buffer.from(lines.join(""))
}

const json = { "content-type": "application/json" }

export const batches: Scenario = {
  id: "batches",
  title: ({ batchLines }) => `a batch of ${batchLines} lines, in turns with the same requests sent directly over ${BATCH_CONCURRENCY} connections`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "gateway" ? null : "has no batches",
  run: async (harness, running, { batchLines, measureMs, warmupMs }) => {
    const { endpoint } = running
    const pid = endpoint.pid ?? 0
    const agent = new http.Agent({ keepAlive: true })
    const call = (method: string, path: string, body?: unknown) => send(endpoint, agent, { method, path, ...(body === undefined ? {} : { headers: json, body: Buffer.from(JSON.stringify(body)) }) })
    const direct = async (): Promise<number> => {
      const result = await harness.submit<"closed">({ kind: "closed", endpoint, script: { kind: "json" }, concurrency: BATCH_CONCURRENCY, warmupMs, measureMs, deadlineMs: deadline(measureMs) })
      await running.rest?.()
      return result.requests / (result.windowMs / 1_000)
    }
    try {
      await warm(harness, running)
      const before = await direct()
      await sleep(REST_MS)
      const kbBefore = treeResidentKb(pid)
      const input = textAt(await send(endpoint, agent, { method: "POST", path: "/v1/files", ...formOf("batch", "lines.jsonl", inputOf(endpoint, batchLines)) }), "id")
      const begun = performance.now()
      const id = textAt(await call("POST", "/v1/batches", { input_file_id: input, endpoint: "/v1/chat/completions", completion_window: "24h" }), "id")
      let kbPeak = kbBefore
      let batch: Buffer
      do {
        await sleep(LOOK_MS)
        kbPeak = Math.max(kbPeak, treeResidentKb(pid))
        batch = await call("GET", `/v1/batches/${id}`)
        if (performance.now() - begun > 20_000 + batchLines * LINE_MS) throw new Error(`the batch is not over: ${batch.toString("utf8", 0, 2_000)}`)
      } while (["validating", "in_progress", "finalizing"].includes(textAt(batch, "status")))
      const perSecond = batchLines / ((performance.now() - begun) / 1_000)
      const output = await call("GET", `/v1/files/${textAt(batch, "output_file_id")}/content`)
      const answered = output.toString("latin1").split("\n").length - 1
      if (answered !== batchLines) throw new Error(`${answered} answers to ${batchLines} lines: ${batch.toString("utf8", 0, 2_000)}`)
      // There and back again: what drifts meanwhile is charged to both.
      const directly = (before + await direct()) / 2
      return {
        values: { "batches.perSecond": perSecond, "batches.ratio": perSecond / directly, "batches.memoryMb": (kbPeak - kbBefore) / 1_024 },
        notes: [`directly ${Math.round(directly)} requests per second`]
      }
    } finally {
      agent.destroy()
    }
  }
}
