/** Which headers cross the gateway: what a client's SDK or coding agent says reaches an upstream of its own format, and the answer's ids come back. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Family, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const family = (name: Family["name"]): Family => families.find((one) => one.name === name) as Family

const said = {
  "user-agent": "agent/1.2 (linux)", "x-stainless-lang": "js", "openai-organization": "org-client", "openai-project": "proj-client",
  "openai-beta": "responses=v1", "anthropic-beta": "tools-1", "anthropic-version": "2023-06-01", "x-claude-code-session-id": "cc-1", "x-app": "cli",
  "session-id": "sess-1", "session_id": "sess-1", "x-codex-turn-state": "turn-1", "originator": "codex_exec", "x-goog-api-client": "gl-node/1",
  "cookie": "canary=1", "chatgpt-account-id": "canary", "x-unknown": "canary", "x-forwarded-for": "10.9.8.7"
}
const faces = {
  "chat-completions": { path: "/v1/chat/completions", more: { messages: [{ role: "user", content: "hi" }] }, crosses: ["user-agent", "x-stainless-lang", "openai-organization", "openai-project", "openai-beta"] },
  "messages": { path: "/v1/messages?beta=true", more: { max_tokens: 9, messages: [{ role: "user", content: "hi" }] }, crosses: ["user-agent", "x-stainless-lang", "anthropic-beta", "anthropic-version", "x-claude-code-session-id", "x-app"] },
  "responses": { path: "/v1/responses", more: { input: "hi" }, crosses: ["user-agent", "x-stainless-lang", "openai-organization", "openai-project", "openai-beta", "session-id", "session_id", "x-codex-turn-state", "originator"] }
} as const
type Face = keyof typeof faces
const names = Object.keys(faces) as ReadonlyArray<Face>

const ask = async (face: Face, upstream: Family, label: string, script = {}, more: Readonly<Record<string, unknown>> = {}) => {
  const model = await matrix.model(upstream, face, label, script)
  const { more: body, path } = faces[face]
  const reply = await Http.send(matrix.url, { method: "POST", path, headers: { ...said, authorization: `Bearer ${matrix.key}` }, body: { model: model.id, ...body, ...more } })
  const [entry] = await matrix.entries(model.name)
  return { reply, entry }
}

describe("a client's headers", () => {
  it.each(names)("reach an upstream of the client's own format: %s", async (face) => {
    const { entry, reply } = await ask(face, family(face), `own-${face}`)
    expect(reply.status).toBe(200)
    for (const [name, value] of Object.entries(said)) {
      const crosses = (faces[face].crosses as ReadonlyArray<string>).includes(name)
      expect([name, entry?.headers[name] === value]).toEqual([name, crosses || (name === "anthropic-version" && face === "messages")])
    }
    expect(JSON.stringify(entry?.headers)).not.toContain("canary=1")
    expect(entry?.query).toBe(face === "messages" ? "beta=true" : "")
  })

  it.each(names)("of its own format stay behind where the upstream speaks another: %s", async (face) => {
    for (const other of families.filter(({ name }) => name !== face)) {
      const { entry } = await ask(face, other, `other-${face}`)
      const crossed = Object.entries(said).filter(([name, value]) => name !== "anthropic-version" && entry?.headers[name] === value).map(([name]) => name)
      expect([other.name, crossed, entry?.query]).toEqual([other.name, [], ""])
    }
  })

  it("that choose an account do not cost the stored credential its health when they are refused", async () => {
    const { reply } = await ask("chat-completions", family("chat-completions"), "mismatched", {
      status: 401, error: { message: "OpenAI-Organization header should match organization for API key", code: "mismatched_organization" }
    })
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([401, { error: { code: "mismatched_organization" } }])
    await matrix.gateway.operator.settled()
    const { connections } = await matrix.gateway.operator.call<{ connections: ReadonlyArray<{ provider: string; testStatus: string; lastError: string | null }> }>("GET", "/api/providers")
    const connection = connections.find(({ provider }) => provider === matrix.providers.get("chat"))
    expect(connection?.testStatus).not.toBe("error")
    expect(connection?.lastError ?? null).toBeNull()
  })
})

describe("an upstream's headers", () => {
  it("with ids, limits and what a coding agent sends back reach the client, on an answer, a stream and an error; what names the account stays", async () => {
    const headers = {
      "request-id": "req_vendor", "x-request-id": "req-vendor", "x-codex-turn-state": "turn-2", "x-codex-primary-used-percent": "12", "x-ratelimit-remaining-requests": "41",
      "anthropic-ratelimit-tokens-remaining": "7", "openai-processing-ms": "12", "openai-model": "gpt-5-2025",
      "openai-organization": "org-operator", "anthropic-organization-id": "org-operator", "set-cookie": "a=b", "cf-ray": "x"
    }
    for (const [label, script, stream] of [["whole", { headers }, false], ["stream", { headers }, true], ["error", { headers, status: 429 }, false]] as const) {
      const { reply } = await ask("responses", family("responses"), `back-${label}`, script, { stream })
      const { "openai-organization": _o, "anthropic-organization-id": _a, "set-cookie": _s, "cf-ray": _c, ...crosses } = headers
      expect(reply.headers).toMatchObject(crosses)
      expect(reply.headers["x-gateway-request-id"]).not.toMatch(/vendor/)
      expect(JSON.stringify(reply.headers)).not.toContain("org-operator")
    }
  })
})
