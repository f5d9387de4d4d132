import { describe, expect, it } from "vitest"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"

describe("headers to the upstream", () => {
  it("pass only when a row names them", () => {
    const sent = [
      "Anthropic-Beta", "tools-2", "anthropic-version", "2023-06-01", "openai-beta", "assistants=v2", "idempotency-key", "k1",
      "authorization", "Bearer gw-canary", "x-api-key", "gw-canary", "cookie", "s=canary", "x-goog-api-key", "canary", "host", "evil",
      "x-forwarded-for", "10.0.0.1", "x-real-ip", "10.0.0.1", "forwarded", "for=1", "x-gateway-lease-owner", "canary", "connection", "x",
      "transfer-encoding", "chunked", "content-length", "5", "accept-encoding", "gzip", "x-stainless-os", "Linux", "user-agent", "curl",
      "origin", "https://a", "referer", "https://a", "proxy-authorization", "Basic canary", "openai-organization", "org-1",
      "chatgpt-account-id", "canary", "x-codex-turn-state", "t1", "x-codex-a b", "1", "x-session-id", "ours", "session-id", "s1",
      "traceparent", "00-1-2-01", "expect", "100-continue", "te", "trailers", "upgrade", "websocket", "x-unknown", "1"
    ]
    expect(ForwardHeaders.toUpstream(sent)).toEqual([
      "anthropic-beta", "tools-2", "anthropic-version", "2023-06-01", "openai-beta", "assistants=v2", "idempotency-key", "k1",
      "x-stainless-os", "Linux", "user-agent", "curl", "openai-organization", "org-1", "x-codex-turn-state", "t1", "session-id", "s1"
    ])
  })

  it("never carry a control character, a line break or a character outside latin-1", () => {
    for (const bad of ["a\r\nx-evil: 1", "a\nb", "a\rb", "a\u0000b", "a\u007fb", "a\u2028b", "x".repeat(9_000)]) {
      expect(ForwardHeaders.toUpstream(["anthropic-beta", bad])).toEqual([])
    }
    expect(ForwardHeaders.toUpstream(["anthropic-beta", "  a\tb  "])).toEqual(["anthropic-beta", "a\tb"])
  })
})

describe("headers to the client", () => {
  it("pass only when a row or a family names them, and the upstream's id has one name for all vendors too", () => {
    const received = [
      "content-type", "text/event-stream", "Retry-After", "3", "x-ratelimit-remaining-requests", "9", "anthropic-ratelimit-tokens-reset", "z",
      "x-request-id", "req_1", "request-id", "req_2", "openai-processing-ms", "12", "set-cookie", "__cf=canary", "server", "cloudflare",
      "cf-ray", "canary", "cf-cache-status", "DYNAMIC", "via", "1.1 x", "www-authenticate", "Bearer", "authorization", "canary",
      "openai-organization", "org-canary", "anthropic-organization-id", "canary", "connection", "keep-alive", "keep-alive", "timeout=5",
      "transfer-encoding", "chunked", "content-length", "10", "content-encoding", "gzip", "alt-svc", "h3", "strict-transport-security", "1",
      "access-control-allow-origin", "*", "location", "http://169.254.169.254/", "x-gateway-cost", "1", "proxy-authenticate", "Basic", "trailer", "x"
    ]
    expect(ForwardHeaders.toClient(received)).toEqual([
      "content-type", "text/event-stream", "retry-after", "3", "x-ratelimit-remaining-requests", "9", "anthropic-ratelimit-tokens-reset", "z",
      "x-request-id", "req_1", "request-id", "req_2", "openai-processing-ms", "12", "x-upstream-request-id", "req_1"
    ])
  })

  it("are bounded in number, and a family prefix does not let a strange name through", () => {
    const many = Array.from({ length: 500 }, (_, i) => [`x-ratelimit-${i}`, "1"]).flat()
    expect(ForwardHeaders.toClient(many).length).toBeLessThanOrEqual(128)
    expect(ForwardHeaders.toClient(["x-ratelimit-a\r\nevil", "1", "x-ratelimit-a b", "1"])).toEqual([])
  })

  it("tell an id whose own name stays behind, with and without a header that is left out, and behind any number of others", () => {
    for (const [name, others] of [["x-amzn-requestid", []], ["X-Goog-Request-Id", ["content-type", "text/html", "server", "x"]]] as const) {
      expect(ForwardHeaders.toClient([...others, name, " 9 ", "x-amzn-requestid", "second"], "content-type")).toEqual(["x-upstream-request-id", "9"])
      expect(ForwardHeaders.toClient([name, "9"])).toEqual(["x-upstream-request-id", "9"])
      expect(ForwardHeaders.toClient([name, "bad\nvalue", name, ""])).toEqual([])
    }
    const many = Array.from({ length: 500 }, (_, i) => [`x-ratelimit-${i}`, "1"]).flat()
    expect(ForwardHeaders.toClient([...many, "x-request-id", "last"]).slice(-2)).toEqual(["x-upstream-request-id", "last"])
  })

  it("say why each row is there", () => {
    for (const reason of [...ForwardHeaders.requestAllowed.values(), ...ForwardHeaders.responseAllowed.values()]) expect(reason.length).toBeGreaterThan(15)
  })
})

describe("a target's headers with the client's", () => {
  const own = ["content-type", "application/json", "anthropic-version", "2023-06-01"]

  it("are the target's own list when nothing is added", () => {
    expect(ForwardHeaders.merge(own, ["anthropic-version", "2023-06-01"], "messages", "messages")).toBe(own)
    expect(ForwardHeaders.merge(own, ["anthropic-beta", "tools-1"], "messages", "chat-completions")).toBe(own)
    expect(ForwardHeaders.merge(own, ["x-goog-api-client", "lib/1"], "messages", "messages")).toBe(own)
  })

  it("never hold a name twice: the client's value stands", () => {
    expect(ForwardHeaders.merge(own, ["anthropic-version", "2024-01-01", "anthropic-beta", "tools-1"], "messages", "messages"))
      .toEqual(["content-type", "application/json", "anthropic-version", "2024-01-01", "anthropic-beta", "tools-1"])
  })

  it("are the same list for the same headers, so that the head that was formatted for it is sent again", () => {
    const first = ForwardHeaders.merge(own, ["user-agent", "sdk/1", "anthropic-beta", "tools-1"], "messages", "messages")
    expect(ForwardHeaders.merge(own, ["user-agent", "sdk/1", "anthropic-beta", "tools-1"], "messages", "messages")).toBe(first)
    expect(ForwardHeaders.merge(own, ["user-agent", "sdk/2", "anthropic-beta", "tools-1"], "messages", "messages")).toContain("sdk/2")
    expect(ForwardHeaders.merge([...own], ["user-agent", "sdk/1", "anthropic-beta", "tools-1"], "messages", "messages")).not.toBe(first)
  })

  it("stay the operator's where they belong to the credential or were set for it", () => {
    const set = [...own, "user-agent", "operator/1", "openai-organization", "org-operator"]
    expect(ForwardHeaders.merge(set, ["user-agent", "client/1", "openai-organization", "org-client"], "responses", "responses")).toBe(set)
    expect(ForwardHeaders.namesAccount(set, ["openai-organization", "org-client"], "responses", "responses")).toBe(false)
    expect(ForwardHeaders.namesAccount(own, ["openai-project", "proj-client"], "responses", "responses")).toBe(true)
    expect(ForwardHeaders.namesAccount(own, ["openai-project", "proj-client"], "responses", "messages")).toBe(false)
  })

  it("carry ?beta=true where both speak the messages format, and nothing else of a query", () => {
    expect(ForwardHeaders.queryToUpstream("beta=true&key=canary", "/v1/messages", "messages", "messages")).toBe("?beta=true")
    expect(ForwardHeaders.queryToUpstream("beta=true", "/v1/messages?v=1", "messages", "messages")).toBe("&beta=true")
    expect(ForwardHeaders.queryToUpstream("beta=true", "/v1/messages?beta=true", "messages", "messages")).toBe("")
    expect(ForwardHeaders.queryToUpstream("beta=true", "/v1/chat/completions", "messages", "chat-completions")).toBe("")
    expect(ForwardHeaders.queryToUpstream("alphabeta=true", "/v1/messages", "messages", "messages")).toBe("")
  })

  it("hold what belongs to no format whatever the family", () => {
    expect(ForwardHeaders.merge(own, ["idempotency-key", "k"], "messages", "responses")).toEqual([...own, "idempotency-key", "k"])
  })
})
