/** Whose fault an error is, and whether time mends it: read once, of the code and of what an upstream said. */
import { describe, expect, it } from "vitest"
import * as Errors from "#schemas/errors.ts"
import type { ErrorCode } from "#schemas/errors.ts"

const upstream = { family: "chat-completions", error: null, requestId: null, spoke: true, headers: [] } as const
const said = (status: number) => {
  const { code, type } = Errors.ofStatus(status)
  return new Errors.PublicError(code, status, type, "words", null, null, upstream)
}
const told = ({ reason, retry, source }: Errors.PublicError) => [source, reason, retry]

describe("an error", () => {
  it.each([
    ["invalid_json", "client", "invalid", "never"],
    ["invalid_api_key", "client", "credential", "never"],
    ["model_not_found", "client", "not-found", "never"],
    ["rate_limit_exceeded", "client", "rate-limit", "later"],
    ["budget_exceeded", "client", "rate-limit", "later"],
    ["model_cooldown", "upstream", "rate-limit", "later"],
    ["RATE_LIMIT_QUEUE_FULL", "gateway", "rate-limit", "later"],
    ["internal_server_error", "gateway", "failed", "later"],
    ["ledger_unavailable", "gateway", "unavailable", "later"],
    ["upstream_connect_error", "upstream", "bad-gateway", "later"],
    ["upstream_idle_timeout", "upstream", "gateway-timeout", "later"],
    ["provider_circuit_open", "upstream", "unavailable", "later"],
    ["loop_detected", "client", "server", "never"]
  ] as ReadonlyArray<readonly [ErrorCode, string, string, string]>)("of code %s is the fault of the %s", (code, source, reason, retry) => {
    expect(told(Errors.make(code, "words"))).toEqual([source, reason, retry])
  })

  it.each([
    [400, "client", "never"], [413, "client", "never"], [422, "client", "never"], [401, "upstream", "never"], [402, "upstream", "never"],
    [404, "upstream", "never"], [429, "upstream", "later"], [500, "upstream", "later"], [503, "upstream", "later"], [529, "upstream", "later"]
  ])("that an upstream told with %s is the fault of the %s", (status, source, retry) => {
    const error = said(status)
    expect([error.source, error.retry]).toEqual([source, retry])
  })

  it("without a row of the catalogue is told by its status", () => {
    expect(told(new Errors.PublicError("LEASE_FENCED", 409, "lease_error", "words"))).toEqual(["client", "refused", "never"])
    expect(told(new Errors.PublicError("LEASE_STORE_UNAVAILABLE", 503, "lease_error", "words"))).toEqual(["gateway", "unavailable", "later"])
  })
})
