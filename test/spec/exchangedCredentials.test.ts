import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { errorIn } from "#test/support/lab.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"

interface Seen {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: string
}

let oauth: OAuthServer.OAuthServer
let vendor: Server
let gateway: InProcess
let base: string
let seen: Array<Seen>
/** Status of the vendor's next answer. */
let status: number

const answer = JSON.stringify({
  id: "msg_1", type: "message", role: "assistant", model: "claude", content: [{ type: "text", text: "hello" }], stop_reason: "end_turn",
  stop_sequence: null, usage: { input_tokens: 3, output_tokens: 1 }
})

beforeAll(async () => {
  oauth = await OAuthServer.start()
  oauth.clock = () => Date.now() / 1000
  vendor = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => { body += String(chunk) })
    request.on("end", () => {
      seen.push({ path: request.url ?? "", authorization: request.headers.authorization, body })
      response.writeHead(status, { "content-type": "application/json" }).end(status === 200 ? answer : "{}")
    })
  })
  await new Promise<void>((resolve) => { vendor.listen(0, "127.0.0.1", resolve) })
  base = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/{project}/{region}`
  gateway = await inProcess()
  await gateway.operator.setFlag("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "true")
})
beforeEach(() => {
  seen = []
  status = 200
  oauth.forms.length = 0
})
afterAll(async () => {
  await gateway.close()
  vendor.closeAllConnections()
  vendor.close()
  await oauth.close()
})

const connect = (document: string) => gateway.operator.createConnection({ provider: "vertex-anthropic", apiKey: document, providerSpecificData: { baseUrl: base } })
const say = (path = "/v1/messages") => Http.send(gateway.url, {
  path, body: { model: "vertex-anthropic/claude-sonnet-4-5@20250929", max_tokens: 5, messages: [{ role: "user", content: "hi" }] }
})

describe("a provider behind a service account", () => {
  it("is called with an exchanged token and a body under its rules; one exchange serves many calls, in both formats", async () => {
    const id = await connect(OAuthServer.serviceAccount(oauth.tokenUrl))
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => say(i % 2 === 0 ? "/v1/messages" : "/v1/chat/completions")))
    expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200))
    expect(oauth.forms).toHaveLength(1)
    expect(new Set(seen.map((call) => call.authorization)).size).toBe(1)
    expect(seen[0]?.authorization).toMatch(/^Bearer canary-access-\d+$/)
    expect(seen[0]?.path).toBe("/project-of-the-account/global/models/claude-sonnet-4-5%4020250929:rawPredict")
    for (const call of seen) {
      const body = JSON.parse(call.body) as Record<string, unknown>
      expect(body).toMatchObject({ anthropic_version: "vertex-2023-10-16", messages: [{ role: "user" }] })
      expect(body).not.toHaveProperty("model")
    }
    expect(replies.map((reply) => reply.text).join()).not.toContain("canary")
    await gateway.operator.removeConnection(id)
  })

  it("whose grant is refused costs no call to the provider, answers 401, and leaves the plans", async () => {
    oauth.next.push({ status: 400, body: JSON.stringify({ error: "invalid_grant", error_description: "canary words" }) })
    const id = await connect(OAuthServer.serviceAccount(oauth.tokenUrl))
    const reply = await say()
    expect([reply.status, errorIn(reply)["message"]]).toEqual([401, expect.stringContaining("refused")])
    expect(reply.text).not.toContain("canary")
    expect(seen).toHaveLength(0)
    expect((await say()).status).toBe(503)
    await gateway.operator.removeConnection(id)
  })

  it("whose token endpoint is down for a moment answers 502, and 200 afterwards", async () => {
    oauth.next.push("reset")
    const id = await connect(OAuthServer.serviceAccount(oauth.tokenUrl))
    expect((await say()).status).toBe(502)
    expect((await say()).status).toBe(200)
    await gateway.operator.removeConnection(id)
  })

  it("falls back to the next connection when the first one gets no token", async () => {
    const broken = await connect("{\"type\":\"service_account\"}")
    const good = await gateway.operator.createConnection({
      provider: "vertex-anthropic", apiKey: OAuthServer.serviceAccount(oauth.tokenUrl), priority: 2, providerSpecificData: { baseUrl: base, project: "p-2" }
    })
    await gateway.operator.changeConnection(broken, { providerSpecificData: { project: "p-1" } })
    expect((await say()).status).toBe(200)
    expect(seen.map((call) => call.path.split("/")[1])).toEqual(["p-2"])
    await gateway.operator.removeConnection(broken)
    await gateway.operator.removeConnection(good)
  })

  it("sign-ins that are not configured say so", async () => {
    expect(await gateway.operator.call("POST", "/api/oauth/github-models/start", {})).toMatchObject({ configured: false, missing: ["GITHUB_OAUTH_CLIENT_ID"] })
  })
})
