import { describe, expect, it } from "vitest"
import * as Headers from "#src/wire/forwardHeaders.ts"

describe("headers to the upstream", () => {
  it("pass only when a row names them", () => {
    const sent = [
      "Anthropic-Beta", "tools-2", "anthropic-version", "2023-06-01", "openai-beta", "assistants=v2", "idempotency-key", "k1",
      "authorization", "Bearer gw-canary", "x-api-key", "gw-canary", "cookie", "s=canary", "x-goog-api-key", "canary", "host", "evil",
      "x-forwarded-for", "10.0.0.1", "x-real-ip", "10.0.0.1", "forwarded", "for=1", "x-gateway-lease-owner", "canary", "connection", "x",
      "transfer-encoding", "chunked", "content-length", "5", "accept-encoding", "gzip", "x-stainless-os", "Linux", "user-agent", "curl",
      "origin", "https://a", "referer", "https://a", "proxy-authorization", "Basic canary", "openai-organization", "org-canary",
      "traceparent", "00-1-2-01", "expect", "100-continue", "te", "trailers", "upgrade", "websocket", "x-unknown", "1"
    ]
    expect(Headers.toUpstream(sent)).toEqual([
      "anthropic-beta", "tools-2", "anthropic-version", "2023-06-01", "openai-beta", "assistants=v2", "idempotency-key", "k1"
    ])
  })

  it("never carry a control character, a line break or a character outside latin-1", () => {
    for (const bad of ["a\r\nx-evil: 1", "a\nb", "a\rb", "a\u0000b", "a\u007fb", "a\u2028b", "x".repeat(9_000)]) {
      expect(Headers.toUpstream(["anthropic-beta", bad])).toEqual([])
    }
    expect(Headers.toUpstream(["anthropic-beta", "  a\tb  "])).toEqual(["anthropic-beta", "a\tb"])
  })
})

describe("headers to the client", () => {
  it("pass only when a row or a family names them, and the upstream's id gets its own name", () => {
    const received = [
      "content-type", "text/event-stream", "Retry-After", "3", "x-ratelimit-remaining-requests", "9", "anthropic-ratelimit-tokens-reset", "z",
      "x-request-id", "req_1", "request-id", "req_2", "openai-processing-ms", "12", "set-cookie", "__cf=canary", "server", "cloudflare",
      "cf-ray", "canary", "cf-cache-status", "DYNAMIC", "via", "1.1 x", "www-authenticate", "Bearer", "authorization", "canary",
      "openai-organization", "org-canary", "anthropic-organization-id", "canary", "connection", "keep-alive", "keep-alive", "timeout=5",
      "transfer-encoding", "chunked", "content-length", "10", "content-encoding", "gzip", "alt-svc", "h3", "strict-transport-security", "1",
      "access-control-allow-origin", "*", "location", "http://169.254.169.254/", "x-gateway-cost", "1", "proxy-authenticate", "Basic", "trailer", "x"
    ]
    expect(Headers.toClient(received)).toEqual([
      "content-type", "text/event-stream", "retry-after", "3", "x-ratelimit-remaining-requests", "9", "anthropic-ratelimit-tokens-reset", "z",
      "x-upstream-request-id", "req_1", "openai-processing-ms", "12"
    ])
  })

  it("are bounded in number, and a family prefix does not let a strange name through", () => {
    const many = Array.from({ length: 500 }, (_, i) => [`x-ratelimit-${i}`, "1"]).flat()
    expect(Headers.toClient(many).length).toBeLessThanOrEqual(128)
    expect(Headers.toClient(["x-ratelimit-a\r\nevil", "1", "x-ratelimit-a b", "1"])).toEqual([])
  })

  it("say why each row is there", () => {
    for (const reason of [...Headers.requestAllowed.values(), ...Headers.responseAllowed.values()]) expect(reason.length).toBeGreaterThan(15)
  })
})

describe("a target's headers with the client's", () => {
  const own = ["content-type", "application/json", "anthropic-version", "2023-06-01"]

  it("are the target's own list when nothing is added", () => {
    expect(Headers.merge(own, ["anthropic-version", "2023-06-01"], "messages", "messages")).toBe(own)
    expect(Headers.merge(own, ["anthropic-beta", "tools-1"], "messages", "chat-completions")).toBe(own)
    expect(Headers.merge(own, ["x-goog-api-client", "lib/1"], "messages", "messages")).toBe(own)
  })

  it("never hold a name twice: the client's value stands", () => {
    expect(Headers.merge(own, ["anthropic-version", "2024-01-01", "anthropic-beta", "tools-1"], "messages", "messages"))
      .toEqual(["content-type", "application/json", "anthropic-version", "2024-01-01", "anthropic-beta", "tools-1"])
  })

  it("hold what belongs to no format whatever the family", () => {
    expect(Headers.merge(own, ["idempotency-key", "k"], "messages", "responses")).toEqual([...own, "idempotency-key", "k"])
  })
})
