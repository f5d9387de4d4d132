import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { after, BACKOFF_MS } from "#actors/webhook/deliveryStep.ts"
import * as Payloads from "#actors/webhook/payloads.ts"
import * as RequestIds from "#schemas/protocols/requestIds.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { QuotaExceeded } from "#schemas/events.ts"
import { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { WebhookKind } from "#schemas/records/Webhook.ts"
import { signature, textOf } from "#src/features/webhooks/wireForms.ts"
import { ledgerRow } from "#test/suites/records.ts"

const status = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 599 }))
const answeredWith = (code: number, blocked: boolean) => ({ status: code, error: code >= 200 && code < 300 ? null : "no", blocked })
const read = (event: { readonly body: string } | null) => event === null ? null : JSON.parse(event.body) as { event: string; timestamp: string; data: Record<string, unknown> }

/** Names as an operator reads them. */
const nameOf = (provider: string): string => `named ${provider}`

const summary = (fields: Partial<RequestSummary> = {}): RequestSummary => ({
  requestId: "r-1", method: "POST", endpoint: "/v1/chat/completions", requestedModel: "lab/m", provider: null, model: null, apiKeyId: "k", status: 503, clientStatus: 503,
  outcome: "policy", errorCode: "all_cooling_down", stream: false, attempts: 0, cache: "off", startedAt: 1_000, latencyMs: 12.4, ttftMs: null, bytesOut: 0, ...fields
})

describe("the verdict on an attempt", () => {
  it.prop("2xx ends it well; only silence and 5xx of custom receivers are tried again, three times, 1, 2 and 4 s later", [
    WebhookKind, status, Schema.Boolean, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 }))
  ], ([kind, code, blocked, attempt]) => {
    const step = after(kind, attempt, answeredWith(code, blocked))
    const worth = kind === "custom" && !blocked && (code === 0 || code >= 500) && attempt <= 3
    assert.deepStrictEqual(step, code >= 200 && code < 300
      ? { _tag: "Delivered" }
      : worth ? { _tag: "Again", afterMs: [1_000, 2_000, 4_000][attempt - 1] ?? NaN } : { _tag: "Failed" })
  })

  it("the pauses are the documented ones", () => assert.deepStrictEqual(BACKOFF_MS, [1_000, 2_000, 4_000]))
})

describe("events of requests", () => {
  it.prop("a row tells of its request when it is the last one or its process died; a client that left is no event", [LedgerRow], ([row]) => {
    const event = Payloads.ofRow({ ...row, settledAt: 1_000 }, nameOf, [])
    const expected = row.outcome === "crashed" ? "request.failed"
      : !row.final || row.outcome === "client-abort" ? undefined
      : row.outcome === "completed" ? "request.completed" : "request.failed"
    assert.strictEqual(event?.type, expected)
    if (event === null) return
    assert.strictEqual(event.id, Payloads.requestEventId(row.requestId, row.attemptId))
    const data = read(event)?.data ?? {}
    assert.strictEqual(data["event_id"], event.id)
    assert.strictEqual(data["trace_id"], row.requestId)
    assert.strictEqual(data["provider"], nameOf(row.provider))
    if (expected === "request.failed") assert.isAtMost(String(data["error_message"]).length, 500)
  })

  it("a request without a row tells of its failure, but not what was refused before routing, what was cached, or whose client left", () => {
    assert.strictEqual(Payloads.ofSummary(summary(), nameOf)?.type, "request.failed")
    assert.deepInclude(Payloads.ofSummary(summary(), nameOf)?.data, { model: "lab/m", attempts: 0, latency_ms: 12, status: 503, error_code: "all_cooling_down" })
    assert.strictEqual(Payloads.ofSummary(summary({ attempts: 2, status: 429, outcome: "upstream-status" }), nameOf)?.type, "request.failed")
    for (const quiet of [{ status: 401 }, { status: 429 }, { outcome: "completed", status: 200 }, { outcome: "client-abort", status: 499, attempts: 1 }] as const) {
      assert.isNull(Payloads.ofSummary(summary(quiet), nameOf))
    }
  })

  it("the row and the summary of one request are one event", () => {
    const own = RequestIds.make("node-a-mx2m8os9", 7)
    assert.strictEqual(Payloads.ofRow(ledgerRow({ requestId: own, outcome: "upstream-reset" }), nameOf, [])?.id, Payloads.requestEventId(own, "1000"))
    assert.strictEqual(Payloads.requestEventId(own, "1000"), `evt_${own}`)
  })

  it("requests to which a client gave one id have an event each", () => {
    const ids = ["a-1", "a-2"].map((attemptId) => Payloads.ofRow(ledgerRow({ requestId: "trace-7", attemptId }), nameOf, [])?.id)
    assert.deepStrictEqual(ids, ["evt_trace-7_a-1", "evt_trace-7_a-2"])
  })

  it("a limit that several nodes see passed is one event for its window; a window without an end is not joined", () => {
    const exceeded = (data: Partial<QuotaExceeded["data"]>): QuotaExceeded => ({
      type: "quota.exceeded", at: 1, data: { api_key_id: "k", quota: "daily_usd", scope: "global", used: 2, limit: 1, pct: 200, resets_at: "2026-01-02T00:00:00.000Z", ...data }
    })
    assert.strictEqual(Payloads.quotaEventId(exceeded({}), "x"), Payloads.quotaEventId(exceeded({ used: 3, pct: 300 }), "y"))
    const others = [{ api_key_id: "other" }, { pct: 80 }, { scope: "model:m" }, { limit: 5 }, { resets_at: "2026-01-03T00:00:00.000Z" }, { resets_at: null }].map((data) => Payloads.quotaEventId(exceeded(data), "random"))
    assert.strictEqual(new Set([...others, Payloads.quotaEventId(exceeded({}), "x")]).size, 7)
  })
})

describe("wire forms", () => {
  it("the signature is the documented HMAC", () =>
    assert.strictEqual(signature("key", "The quick brown fox jumps over the lazy dog"), "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"))

  it("a chat text names the event and its fields and is never longer than the tool takes", () => {
    const event = Payloads.ofRow(ledgerRow({ model: "m".repeat(5_000) }), nameOf, [])
    assert.strictEqual(textOf(event?.body ?? "", 2_000).length, 2_000)
    assert.include(textOf(event?.body ?? "", 200), "request.completed")
  })
})
