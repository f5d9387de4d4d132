/** Planted secrets appear in no management reply, whatever is asked. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { AuditStore, ConnectionStore } from "#actors/ports/Stores.ts"
import { routes as managementRoutes } from "#src/Management.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import { connection } from "#test/suites/records.ts"

const canary = (name: string) => Redacted.make(`canary-${name}-secret`)

describe("planted canaries", () => {
  it.effect("no secret of any record leaves through any route", () => Effect.gen(function*() {
    const { ask, context, dials, login } = yield* Management.make()
    const cookie = yield* login()
    yield* Context.get(context, ConnectionStore).insert(connection({
      id: "planted", provider: "openai", authType: "oauth", name: "Planted", apiKey: canary("api"), accessToken: canary("access"),
      refreshToken: canary("refresh"), idToken: canary("id"),
      providerSpecificData: {
        sessionToken: "canary-psd-1", cookie: "canary-psd-2", serviceAccount: { private_key: "canary-psd-3" }, list: [{ client_secret: "canary-psd-4" }],
        accessKeyId: "AKIA", region: "eu"
      }
    }))
    const key = yield* ask("/api/keys", { cookie, body: { name: "planted" } })
    const raw = String(at(key.json, "key"))
    yield* ask("/api/provider-nodes", {
      cookie, body: { type: "openai-compatible", name: "N", prefix: "nn", apiType: "chat", baseUrl: "http://n.test/v1", customHeaders: { "x-api-key": "canary-node" } }
    })
    yield* ask("/api/provider-models", { cookie, body: { provider: "openai", modelId: "m", upstreamHeaders: { "x-auth-token": "canary-model" } } })
    yield* ask("/api/settings", { method: "PATCH", cookie, body: { oidcClientSecret: "canary-oidc" } })
    yield* ask("/api/providers/validate", { cookie, body: { provider: "openai", apiKey: "canary-validated", sessionToken: "canary-validated-2" } })
    yield* ask("/api/providers/bulk", { cookie, body: { provider: "openai", entries: [{ name: "b", apiKey: "canary-bulk" }] } })
    yield* ask("/api/auth/login", { body: { password: "canary-password" } })
    dials.probe = () => Management.probeOk

    const ids: Readonly<Record<string, ReadonlyArray<string>>> = { providers: ["planted"], keys: [String(at(key.json, "id"))], usage: ["planted"] }
    let asked = 0
    for (const route of managementRoutes()) {
      if (["/api/auth/logout", "/api/auth/login", "/api/restart", "/api/shutdown", "/docs"].includes(route.path)) continue
      const id = ids[route.path.split("/")[2] ?? ""]?.[0] ?? "planted"
      const path = route.path.replaceAll(/:(\w+)/g, id)
      // Regenerating and deleting would take the planted records away; everything else may happen.
      if (route.method === "DELETE" || route.endpoint === "regenerate") continue
      const reply = yield* ask(path, { method: route.method, cookie, ...(route.method === "GET" ? {} : { body: {} }) })
      asked++
      assert.notMatch(reply.text, /canary/, `${route.method} ${route.path}`)
      assert.notInclude(reply.text, raw, `${route.method} ${route.path}`)
      for (const [name, value] of reply.headers) assert.notMatch(value, /canary/, `${route.method} ${route.path} ${name}`)
    }
    assert.isAbove(asked, 60)
    const { entries } = yield* Context.get(context, AuditStore).query({ limit: 500, offset: 0 })
    assert.isAbove(entries.length, 5)
    assert.notMatch(JSON.stringify(entries), /canary-(?!password)/)
    assert.notInclude(JSON.stringify(entries), "canary-password")
    assert.notInclude(JSON.stringify(entries), raw)
  }))
})
