import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"

describe("the API description", () => {
  it.effect("lists every route with its tag, summary, tier and security", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    const spec = (yield* ask("/openapi.json")).json
    assert.strictEqual(at(spec, "openapi"), "3.1.0")
    const ManagementHttp = yield* Effect.promise(() => import("#src/Management.ts"))
    for (const route of ManagementHttp.routes()) {
      if (route.group === "docs") continue
      const operation = at(spec, "paths", route.path.replaceAll(/:(\w+)/g, "{$1}"), route.method.toLowerCase())
      assert.isString(at(operation, "summary"), `${route.method} ${route.path}`)
      assert.lengthOf(at(operation, "tags") as ReadonlyArray<unknown>, 1)
      assert.strictEqual(at(operation, "x-access-tier"), route.access?.tier)
      assert.lengthOf((at(operation, "security") ?? at(spec, "security")) as ReadonlyArray<unknown>, route.access?.tier === "PUBLIC" ? 0 : 3)
    }
    assert.deepStrictEqual(Object.keys(at(spec, "components", "securitySchemes") as object), ["apiKey", "session", "bearer", "localToken"])
  }))

  it.effect("is shown on a page that loads nothing from elsewhere", () => Effect.gen(function*() {
    const { ask } = yield* Management.make()
    const page = yield* ask("/docs")
    assert.strictEqual(page.status, 200)
    assert.match(page.headers.get("content-type") ?? "", /text\/html/)
    const markup = page.text.replaceAll(/<script[\s\S]*?<\/script>|<style[\s\S]*?<\/style>/g, "")
    assert.notMatch(markup, /src=|href=/)
    assert.notMatch(page.text, /<script[^>]+src=/)
  }))
})

describe("the description for tools", () => {
  it.effect("has a tag: whoever has the text gets 304, whoever has another the text", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    const cookie = yield* login()
    const first = yield* ask("/api/openapi/spec", { cookie })
    const etag = first.headers.get("etag") ?? ""
    assert.deepStrictEqual([first.status, first.headers.get("cache-control")], [200, "no-cache"])
    assert.match(etag, /^"[0-9a-f]{64}"$/)
    assert.strictEqual(first.text, (yield* ask("/openapi.json")).text)
    for (const given of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = yield* ask("/api/openapi/spec", { cookie, headers: { "if-none-match": given } })
      assert.deepStrictEqual([given, again.status, again.text, again.headers.get("etag")], [given, 304, "", etag])
    }
    assert.strictEqual((yield* ask("/openapi.json", { headers: { "if-none-match": etag } })).status, 304)
    assert.strictEqual((yield* ask("/api/openapi/spec", { cookie, headers: { "if-none-match": "\"other\"" } })).text, first.text)
  }))

  it.effect("is for operators, as the rest below /api", () => Effect.gen(function*() {
    const { ask, login } = yield* Management.make()
    yield* login()
    assert.strictEqual((yield* ask("/api/openapi/spec")).status, 401)
    assert.strictEqual((yield* ask("/openapi.json")).status, 200)
  }))
})
