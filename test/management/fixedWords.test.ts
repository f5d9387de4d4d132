/** A fixed word wins over a parameter in every path: a documented name is never read as an id. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import { inferenceRoutes } from "#src/inferenceRoutes.ts"
import { routes as managementRoutes } from "#src/Management.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

const routes = [...managementRoutes(), ...inferenceRoutes]
const table = RouteTable.make(routes)
const parts = (path: string): ReadonlyArray<string> => path.split("/")
const isParameter = (part: string): boolean => part.startsWith(":")

/** Paths that the pattern of another route fits, too. */
const competes = (fixed: string, pattern: string): boolean => {
  const [a, b] = [parts(fixed), parts(pattern)]
  return a.length === b.length && fixed !== pattern && b.every((part, i) => isParameter(part) || isParameter(a[i] as string) || part === a[i])
}

/** Documented words below the paths that have a parameter, whether they are built or not. */
const documented = [
  ...["analytics", "budget", "cache-health", "call-logs", "combo-health", "history", "logs", "model-latency-stats", "provider-limits", "proxy-logs", "quota",
    "request-logs", "token-limits", "utilization"].map((word) => `/api/usage/${word}`),
  ...["bulk", "client", "expiration", "import", "test-batch", "validate"].map((word) => `/api/providers/${word}`),
  ...["auto", "metrics", "reorder", "test"].map((word) => `/api/combos/${word}`),
  "/api/provider-nodes/validate", "/api/webhooks/validate-url", "/v1/models/health"
]

/** Has the one path a parameter only where the other has one, too? */
const isAsNear = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => a.every((part, i) => !isParameter(part) || isParameter(b[i] as string))

describe("fixed words and parameters", () => {
  it("where they compete, the table answers the fixed path, and no two patterns are equally near", () => {
    let pairs = 0
    for (const { path: fixed } of routes) {
      for (const { path: pattern } of routes) {
        if (!pattern.includes(":") || !competes(fixed, pattern)) continue
        pairs++
        if (!fixed.includes(":")) {
          assert.deepStrictEqual([...new Set(table.match(fixed).map(({ path }) => path))], [fixed], `${fixed} against ${pattern}`)
          continue
        }
        // Both have parameters: fine where one has a word wherever the other has one, and then it answers.
        const [a, b] = [parts(fixed), parts(pattern)]
        const [nearer, farther] = [isAsNear(a, b), isAsNear(b, a)]
        assert.isTrue(nearer || farther, `${fixed} and ${pattern} compete in both directions`)
        const asked = a.map((part) => isParameter(part) ? "word" : part).join("/")
        if (!farther) assert.deepStrictEqual([...new Set(table.match(asked).map(({ path }) => path))], [fixed], `${fixed} against ${pattern}`)
      }
    }
    assert.isAbove(pairs, 10)
  })

  it("every documented word is built or reserved, and a reserved path is not built and would be read as an id", () => {
    for (const path of documented) assert.isTrue(routes.some((route) => route.path === path) || RouteTable.reservedPaths.has(path), path)
    for (const path of RouteTable.reservedPaths) {
      assert.isFalse(routes.some((route) => route.path === path), `${path} is built: take it off the reserved paths`)
      assert.isTrue(routes.some((route) => route.path.includes(":") && competes(path, route.path)), `${path} competes with nothing`)
      assert.deepStrictEqual(table.match(path), [])
    }
  })

  it.effect("over HTTP the fixed path answers, a method that only the pattern has is 405, and a reserved path is unknown", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const management = managementRoutes()
    for (const route of management) {
      const rivals = management.filter(({ path }) => path.includes(":") && competes(route.path, path))
      if (route.path.includes(":") || rivals.length === 0) continue
      const own = new Set(management.filter(({ path }) => path === route.path).map(({ method }) => method))
      if (route.method === "GET") assert.notStrictEqual((yield* ask(route.path, { cookie })).status, 404, route.path)
      for (const { method } of rivals) {
        if (own.has(method)) continue
        const reply = yield* ask(route.path, { method, cookie, ...(method === "GET" || method === "DELETE" ? {} : { body: {} }) })
        assert.strictEqual(reply.status, 405, `${method} ${route.path}`)
      }
    }
    for (const path of RouteTable.reservedPaths) {
      if (!path.startsWith("/api/")) continue
      for (const method of ["GET", "PUT", "DELETE"]) {
        const reply = yield* ask(path, { method, cookie, ...(method === "PUT" ? { body: {} } : {}) })
        assert.deepStrictEqual([reply.status, at(reply.json, "error", "code")], [404, "unknown_route"], `${method} ${path}`)
      }
    }
  }))
})
