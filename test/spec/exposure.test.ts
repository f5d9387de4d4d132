/**
 * Every route of the gateway against what a browser, a proxy or a stranger's name changes about a call: the expectation is
 * derived from the route's access rule, so that a new route is in the table, or fails it.
 */
import * as http from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import { inferenceRoutes } from "#src/inferenceRoutes.ts"
import * as Management from "#src/Management.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

const routes = [...Management.routes(), ...inferenceRoutes]
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })

let lab: Lab
let key = ""
beforeAll(async () => {
  lab = await startLab()
  key = (await lab.gateway.operator.createKey("client")).key
})
afterAll(async () => {
  agent.destroy()
  await lab.close()
})

const foreign = "https://evil.example"
const origins = { none: undefined, own: "own", foreign, null: "null" } as const

interface Case {
  readonly credential: "none" | "key"
  readonly origin: keyof typeof origins
  readonly host: "loopback" | "foreign"
  readonly forwarded: boolean
}

const casesOf = function*(): Generator<Case> {
  for (const credential of ["none", "key"] as const) {
    for (const origin of ["none", "own", "foreign", "null"] as const) {
      for (const forwarded of [false, true]) yield { credential, origin, host: "loopback", forwarded }
    }
    // A rebinding page's own origin is the name that it makes the browser send.
    for (const origin of ["none", "own", "foreign"] as const) yield { credential, origin, host: "foreign", forwarded: false }
  }
}

const safe = (method: string) => method === "GET" || method === "HEAD"

/** How the call is refused, as `status code`; `*` for any code, null when nothing of these dimensions refuses it. */
const expected = ({ access, group, method, path }: RouteRule, { credential, forwarded, host, origin }: Case, requireLogin: boolean): string | null => {
  if (host === "foreign") return "421 host_not_allowed"
  const crossOrigin = origin === "foreign" || origin === "null"
  switch (access?.tier) {
    case "PUBLIC":
      return crossOrigin && !safe(method) ? "403 AUTH_CSRF" : null
    case "CLIENT_API":
      // There the path's token is the key, a wrong one here, and nothing else is asked.
      if (path.includes("/:token/")) return "401 *"
      if (group === "inference") return credential === "none" && crossOrigin ? "403 origin_not_allowed" : null
      return credential === "none" ? "401 AUTH_001" : null
    case "LOCAL_ONLY":
      if (forwarded) return "403 *"
      // Figures need no credential on the gateway's own machine.
      if (path === "/metrics") return null
      // Its handler asks for a scope that this key lacks.
      if (access.clientKey && credential === "key") return crossOrigin ? "403 AUTH_CSRF" : "403 AUTH_004"
      if (requireLogin && credential === "none") return access.clientKey && crossOrigin ? "403 AUTH_CSRF" : "401 AUTH_001"
      return requireLogin ? "403 AUTH_004" : crossOrigin ? "403 AUTH_CSRF" : null
    case "MANAGEMENT":
      if (requireLogin) return credential === "none" ? "401 AUTH_001" : "403 AUTH_004"
      return crossOrigin ? "403 AUTH_CSRF" : null
    case "ALWAYS_PROTECTED":
      return credential === "none" ? "401 AUTH_001" : "403 AUTH_004"
    default:
      throw new Error(`${method} ${path} has no access rule, so nothing says what to expect of it`)
  }
}

const codeIn = (text: string): string => {
  try {
    const { code, error } = JSON.parse(text) as { code?: unknown; error?: string | { code?: unknown; data?: { code?: unknown }; details?: ReadonlyArray<{ reason?: unknown }> } }
    // In the local model server's format the code stands beside the words.
    if (typeof error === "string") return typeof code === "string" ? code : "-"
    // The generateContent format keeps our code in its details, a JSON-RPC frame in its data.
    return String(error?.details?.[0]?.reason ?? error?.data?.code ?? error?.code)
  } catch {
    return ""
  }
}

const ours = new Set(["AUTH_001", "AUTH_004", "AUTH_CSRF", "host_not_allowed", "origin_not_allowed", "LOCAL_ONLY"])

const ask = (route: RouteRule, { credential, forwarded, host, origin }: Case): Promise<Http.Reply> => {
  const { host: own } = new URL(lab.gateway.url)
  const name = host === "loopback" ? own : `evil.example:${own.split(":")[1]}`
  const sent = origins[origin]
  const takesBody = !safe(route.method) && route.method !== "DELETE"
  return Http.send(lab.gateway.url, {
    method: route.method,
    path: route.path.replaceAll(/:(\w+)/g, "no-such-record"),
    headers: {
      host: name,
      ...(sent === undefined ? {} : { origin: sent === "own" ? `http://${name}` : sent }),
      ...(credential === "key" ? { authorization: `Bearer ${key}` } : {}),
      ...(forwarded ? { "x-forwarded-for": "203.0.113.9" } : {})
    },
    ...(takesBody ? { body: {} } : {}),
    agent
  })
}

/** Open to every caller: their handlers ask for a credential of their own. */
const ownCredential: ReadonlySet<string> = new Set(["/api/usage/self-usage", "/api/sync/bundle"])

/** The rows in which the gateway does not do what the table says. */
const wrongRows = async (requireLogin: boolean): Promise<ReadonlyArray<string>> => {
  const wrong: Array<string> = []
  for (const route of routes) {
    for (const row of casesOf()) {
      // A call that is let through with rights would end something that the other rows need.
      const reply = await ask(route, row)
      const wanted = expected(route, row, requireLogin)
      const code = codeIn(reply.text)
      const seen = `${reply.status} ${code}`
      // A key that the handler itself finds too weak was not refused for where it came from.
      const tooWeak = route.access?.tier === "CLIENT_API" && row.credential === "key" && seen === "403 AUTH_004"
      const fits = wanted === null ? !ours.has(code) || tooWeak || (ownCredential.has(route.path) && seen.startsWith("40"))
        : wanted.endsWith("*") ? seen.startsWith(wanted.slice(0, -1)) : seen === wanted
      if (!fits) wrong.push(`${route.method} ${route.path} ${JSON.stringify(row)}: ${seen}, not ${wanted ?? "served"}`)
    }
  }
  return wrong
}

describe("the authorization table: origin, host and proxy", () => {
  it("holds for every route while management needs a login", async () => {
    expect(await wrongRows(true)).toEqual([])
  }, 300_000)

  it("holds for every route while management is open: what grants rights stays closed", async () => {
    const { operator } = lab.gateway
    await operator.call("PUT", "/api/settings/require-login", { requireLogin: false })
    const before = (await operator.call<{ total: number }>("GET", "/api/keys")).total
    expect(await wrongRows(false)).toEqual([])
    expect((await operator.call<{ total: number }>("GET", "/api/keys")).total).toBe(before)
    expect((await operator.call<{ tokens: ReadonlyArray<unknown> }>("GET", "/api/cli/tokens")).tokens).toEqual([])
    await operator.call("PUT", "/api/settings/require-login", { requireLogin: true })
  }, 300_000)

  it("is kept by paths without a route and by what is not ready, too", async () => {
    for (const path of ["/", "/nothing", "/v1/nothing", "/api/health/ping"]) {
      const reply = await Http.send(lab.gateway.url, { path, headers: { host: "evil.example" } })
      expect([path, reply.status, codeIn(reply.text)]).toEqual([path, 421, "host_not_allowed"])
      expect(reply.text).toContain("GATEWAY_ALLOWED_HOSTS")
    }
  })

  it.each([
    ["/v1/chat/completions", { error: { type: "invalid_request_error", code: "host_not_allowed" } }],
    ["/v1/messages", { type: "error", error: { type: "invalid_request_error", code: "host_not_allowed" } }],
    ["/v1beta/models/lab/echo:generateContent", { error: { code: 421, status: expect.any(String) as unknown, details: [{ reason: "host_not_allowed" }] } }],
    ["/v1/api/chat", { error: expect.stringContaining("GATEWAY_ALLOWED_HOSTS") as unknown, code: "host_not_allowed" }]
  ])("is told a client of %s in its format", async (path, body) => {
    const reply = await Http.send(lab.gateway.url, { path, headers: { host: "evil.example" }, body: {} })
    expect(reply.status).toBe(421)
    expect(JSON.parse(reply.text)).toMatchObject(body)
  })
})

describe("a page of another origin", () => {
  const chat = (headers: Readonly<Record<string, string>>, model = "lab/page") =>
    Http.send(lab.gateway.url, { path: "/v1/chat/completions", headers, body: { model, messages } })

  it("makes no upstream call without a key, with any type of body; with a key it does", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"]) {
      expect((await chat({ origin: foreign, "content-type": type })).status).toBe(403)
    }
    expect((await chat({ "content-type": "text/plain" })).status).toBe(415)
    expect((await Http.send(lab.gateway.url, { path: "/v1/api/show", headers: { "content-type": "text/plain" }, body: { model: "lab/page" } })).status).toBe(415)
    expect((await Http.send(lab.gateway.url, { path: "/v1/models", headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403)
    expect(await lab.sim.entries({ model: "page" })).toEqual([])
    for (const headers of [{ origin: foreign }, { origin: "null", "content-type": "text/plain" }]) {
      expect((await chat({ ...headers, authorization: `Bearer ${key}` })).status).toBe(200)
    }
    expect((await chat({ "content-type": "application/json; charset=utf-8" })).status).toBe(200)
    expect(await lab.sim.entries({ model: "page" })).toHaveLength(3)
  })

  it("reads nothing until corsOrigins lists its origin; then preflight, answer, stream and error of inference are readable, and no other", async () => {
    const { operator } = lab.gateway
    const preflight = (path: string, origin = "https://chat.example.com") => Http.send(lab.gateway.url, {
      method: "OPTIONS", path, headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type", "access-control-request-private-network": "true" }
    })
    const allowed = (reply: Http.Reply) => reply.headers["access-control-allow-origin"] ?? null
    const page = { origin: "https://chat.example.com" }
    expect([(await preflight("/v1/chat/completions")).status, allowed(await preflight("/v1/chat/completions")), allowed(await chat({ ...page, authorization: `Bearer ${key}` }))]).toEqual([405, null, null])

    const wrong = await operator.raw("PATCH", "/api/settings", { corsOrigins: "https://chat.example.com, *" })
    expect([wrong.status, wrong.text.includes("corsOrigins")]).toEqual([400, true])
    await operator.call("PATCH", "/api/settings", { corsOrigins: "https://chat.example.com" })
    const granted = await preflight("/v1/chat/completions")
    expect(granted.status).toBe(204)
    expect(granted.headers).toMatchObject({
      "access-control-allow-origin": "https://chat.example.com", "access-control-allow-headers": "authorization,content-type",
      "access-control-allow-private-network": "true", vary: "Origin"
    })
    expect(granted.headers["access-control-allow-methods"]).toContain("POST")
    expect(granted.headers["access-control-allow-credentials"]).toBeUndefined()
    const answers = [
      await chat(page), await chat({ ...page, authorization: "Bearer wrong" }), await chat(page, "lab-of-nobody/x"),
      await Http.send(lab.gateway.url, { path: "/v1/models", headers: page }), await Http.send(lab.gateway.url, { path: "/api/tags", headers: page }),
      await Http.send(lab.gateway.url, { path: "/api/version", headers: page }), await Http.send(lab.gateway.url, { path: "/v1/nothing", headers: page })
    ]
    expect(answers.map((reply) => [reply.status, allowed(reply)])).toEqual([200, 401, 404, 200, 200, 200, 404].map((status) => [status, page.origin]))
    const stream = await Http.stream(lab.gateway.url, lab.call({ model: "page", stream: true }, page))
    expect(stream.headers["access-control-allow-origin"]).toBe(page.origin)
    expect((await stream.ended).whole).toBe(true)
    for (const reply of [await preflight("/v1/chat/completions", foreign), await preflight("/api/keys"), await chat({ origin: foreign, authorization: `Bearer ${key}` })]) {
      expect(allowed(reply)).toBeNull()
    }
    expect((await chat({ origin: foreign })).status).toBe(403)
    await operator.call("PATCH", "/api/settings", { corsOrigins: null })
    expect(allowed(await chat({ ...page, authorization: `Bearer ${key}` }))).toBeNull()
  })
})
