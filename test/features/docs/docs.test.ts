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
      assert.lengthOf(at(operation, "security") as ReadonlyArray<unknown>, route.access?.tier === "PUBLIC" ? 0 : 3)
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
