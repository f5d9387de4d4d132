/** Every inference route with every kind of credential: an API key's own rules decide, and nothing that manages is a key. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { inferenceRoutes } from "#src/inferenceRoutes.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.setFlag("REQUIRE_API_KEY", "true")
})
afterAll(() => lab.close())

const keyed = inferenceRoutes.filter(({ group }) => group === "inference")
/** A managed key needs a lease for a conversation, and may not count; the lists of models are its own. */
const needsLease = ({ endpoint }: RouteRule) => endpoint === "chat"

const filled = (path: string, credential: string | null): string => path
  .replace(":token", credential ?? "none").replace(":channel", "auto").replace(":provider", "lab").replace(":id", "lab%2Fm").replace(":path", "m:generateContent")

const ask = async ({ method, path }: RouteRule, credential: string | null, body: Readonly<Record<string, unknown>> = {}) => {
  const reply = await Http.send(lab.gateway.url, {
    method, path: filled(path, credential),
    headers: credential === null ? {} : { authorization: `Bearer ${credential}` }, ...(method === "GET" ? {} : { body })
  })
  return { status: reply.status, text: reply.text }
}
/** A conversation in every format. */
const spoken = { model: "lab/m", max_tokens: 5, messages: [{ role: "user", content: "Hi" }], input: "Hi", prompt: "Hi", contents: [{ role: "user", parts: [{ text: "Hi" }] }] }
/** An empty body is refused after the key was admitted. */
const isAdmitted = ({ status }: { readonly status: number }) => status !== 401 && status !== 403

/** What a wrong key is answered with; the sockets of requests in frames have a status of their own for it. */
const wrong = ({ path }: RouteRule): number => path === "/v1/ws" ? 403 : 401

describe("the rights at every inference route", () => {
  it("no credential, a session, and access tokens of every scope are no API key: 401", async () => {
    const { operator } = lab.gateway
    const tokens = await Promise.all(["read", "write", "admin"].map((scope) => operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: scope, scope })))
    for (const route of keyed) {
      for (const credential of [null, "sk-nobody-knows-this-key-0000", ...tokens.map(({ token }) => token)]) {
        expect([route.method, route.path, credential?.slice(0, 8), (await ask(route, credential)).status]).toEqual([route.method, route.path, credential?.slice(0, 8), credential === null ? 401 : wrong(route)])
      }
      const { status, text } = await operator.raw(route.method, filled(route.path, null), route.method === "GET" ? undefined : {})
      expect([route.path, status, text.slice(0, 200)]).toEqual([route.path, 401, expect.any(String)])
    }
  })

  it("every API key passes, whatever it may manage; a managed one needs its lease where it talks", async () => {
    const { operator } = lab.gateway
    const plain = await operator.createKey("plain")
    const issued = JSON.parse((await Http.send(lab.gateway.url, {
      path: "/api/v1/registered-keys", body: { name: "issued" }, headers: { authorization: `Bearer ${plain.key}` }
    })).text) as { key: string }
    const managed = await operator.createKey("managed", { scopes: ["lease:exclusive"], allowedConnections: [lab.connection] })
    const keys = [plain.key, issued.key, (await operator.createKey("manage", { scopes: ["manage"] })).key, (await operator.createKey("admin", { scopes: ["admin"] })).key]
    for (const route of keyed) {
      // Leases are for managed keys.
      for (const [i, key] of keys.entries()) expect([route.path, i, isAdmitted(await ask(route, key))]).toEqual([route.path, i, route.endpoint !== "leases"])
      const reply = await ask(route, managed.key, spoken)
      if (needsLease(route)) expect([route.path, reply.text]).toEqual([route.path, expect.stringMatching(/LEASE_|lease/)])
      else expect([route.path, isAdmitted(reply)]).toEqual([route.path, true])
    }
  })

  it("an issued key is refused at every route while its issuer is disabled, and for good once it is deleted", async () => {
    const { operator } = lab.gateway
    const issuer = await operator.createKey("issuer")
    const { key } = JSON.parse((await Http.send(lab.gateway.url, {
      path: "/api/v1/registered-keys", body: { name: "child" }, headers: { authorization: `Bearer ${issuer.key}` }
    })).text) as { key: string }
    await operator.changeKey(issuer.id, { isActive: false })
    for (const route of keyed) expect([route.path, (await ask(route, key)).status]).toEqual([route.path, 403])
    await operator.call("DELETE", `/api/keys/${issuer.id}`)
    for (const route of keyed) expect([route.path, (await ask(route, key)).status]).toEqual([route.path, wrong(route)])
    const usage = await Http.send(lab.gateway.url, { path: "/api/usage/self-usage?format=json", headers: { authorization: `Bearer ${key}` } })
    expect(usage.status).toBe(401)
  })
})
