/** Metrics of several processes as one text. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import { attemptStart, settledRow } from "#test/accounting/support.ts"
import { merge, remains } from "#src/platform/telemetry/mergedText.ts"
import * as Metrics from "#src/platform/telemetry/Metrics.ts"
import { requestSummary } from "./support.ts"

const fresh = () => new Metrics.Metrics(Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>, () => true)

const samplesOf = (text: string): Map<string, number> => {
  const samples = new Map<string, number>()
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue
    const space = line.lastIndexOf(" ")
    assert.isFalse(samples.has(line.slice(0, space)), `repeated ${line}`)
    samples.set(line.slice(0, space), Number(line.slice(space + 1)))
  }
  return samples
}

/** A process that has served a few requests of this model. */
const served = (count: number, model: string): string => {
  const metrics = fresh()
  for (const name of ["process_resident_memory_bytes", "gateway_ledger_gap"]) metrics.reading({ name, help: `About ${name}.`, type: "gauge", read: () => count })
  metrics.reading({ name: "process_cpu_user_seconds_total", help: "CPU.", type: "counter", read: () => count })
  metrics.requestStarted(true)
  for (let i = 0; i < count; i++) {
    metrics.requestStarted(false)
    metrics.attemptSettled(settledRow(attemptStart(`a-${i}`, { model }), { tokensIn: 10, costUsd: 0.5, latencyMs: 40 + 100 * i }))
    metrics.requestSettled(requestSummary({ cache: "hit", stream: false }))
  }
  return metrics.render()
}

describe("the metrics of several processes", () => {
  it("counters, histograms and gauges add up, series by series; whole families stand together, once", () => {
    const texts = [served(1, "m"), served(3, "m"), served(2, `a "b" \\ c d`)]
    const text = merge(texts.map((one, index) => ({ worker: index + 1, text: one })), [])
    const merged = samplesOf(text)
    const parts = texts.map(samplesOf)
    for (const [series, value] of merged) {
      if (series.includes("worker=")) continue
      assert.closeTo(value, parts.reduce((sum, part) => sum + (part.get(series) ?? 0), 0), 1e-9, series)
    }
    for (const part of parts) for (const series of part.keys()) assert.isTrue(/^(process_|gateway_ledger_gap)/.test(series) || merged.has(series), series)
    assert.strictEqual(merged.get("gateway_streams_live"), 3)
    assert.strictEqual(merged.get("gateway_cache_hits_total"), 6)
    assert.strictEqual(merged.get(`gateway_attempt_duration_seconds_bucket{provider="openai",model="m",le="+Inf"}`), 4)
    assert.strictEqual(merged.get(`gateway_attempt_duration_seconds_count{provider="openai",model="m"}`), 4)
    const heads = text.split("\n").filter((line) => line.startsWith("# TYPE "))
    assert.strictEqual(new Set(heads).size, heads.length)
    assert.strictEqual(text.split("\n").filter((line) => line.startsWith("# HELP ")).length, heads.length)
    const order = text.split("\n").filter((line) => line !== "").map((line) => line.startsWith("#") ? line.split(" ")[2] : line.split(/[{ ]/)[0]?.replace(/_(bucket|sum|count)$/, ""))
    assert.deepStrictEqual(order.filter((name, index) => name !== order[index - 1]).length, heads.length)
  })

  it("what belongs to one process is shown for each", () => {
    const merged = samplesOf(merge([{ worker: 1, text: served(1, "m") }, { worker: 2, text: served(3, "m") }], []))
    for (const name of ["process_resident_memory_bytes", "process_cpu_user_seconds_total", "gateway_ledger_gap"]) {
      assert.deepStrictEqual([merged.get(`${name}{worker="1"}`), merged.get(`${name}{worker="2"}`), merged.get(name)], [1, 3, undefined])
    }
  })

  it("of a process that is gone its counters and histograms stay, and nothing else", () => {
    const former = remains([served(3, "m")])
    const merged = samplesOf(merge([{ worker: 1, text: served(1, "m") }], [former]))
    assert.strictEqual(merged.get("gateway_cache_hits_total"), 4)
    assert.strictEqual(merged.get(`gateway_attempt_duration_seconds_count{provider="openai",model="m"}`), 4)
    assert.strictEqual(merged.get("gateway_streams_live"), 1)
    assert.notInclude(former, "process_")
    assert.strictEqual(merge([], []), "")
    assert.strictEqual(remains([former]), former)
  })
})
