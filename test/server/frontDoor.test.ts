/** The open port before the gateway is ready: each client is told so in its own format. */
import { afterAll, beforeAll, expect, it } from "vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as FrontDoor from "#src/FrontDoor.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as Log from "#src/platform/telemetry/Log.ts"
import * as Http from "#test/support/http.ts"

const scope = Scope.makeUnsafe()
let url = ""
beforeAll(async () => {
  const values = await Effect.runPromise(Effect.fromResult(Settings.decode({ HOST: "127.0.0.1", PORT: "0" })))
  const context = await Effect.runPromise(Layer.buildWithScope(FrontDoor.layer(values), scope).pipe(
    Effect.provideService(Log.Destination, { write: (bytes, done) => done(null, bytes.length) })
  ))
  url = `http://127.0.0.1:${Context.get(context, FrontEnd).port}`
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

it.each([
  ["/v1/chat/completions", { error: { type: "server_error", code: "starting" } }],
  ["/v1/responses", { error: { type: "server_error", code: "starting" } }],
  ["/v1/messages", { type: "error", error: { type: "api_error", code: "starting" } }],
  ["/v1beta/models/lab/echo:generateContent", { error: { code: 503, status: "UNAVAILABLE", details: [{ reason: "starting" }] } }],
  ["/v1/api/chat", { error: expect.any(String) as unknown, code: "starting" }]
])("%s is 503 with Retry-After in the format of its clients", async (path, body) => {
  const reply = await Http.send(url, { path, body: {} })
  expect([reply.status, reply.headers["retry-after"]]).toEqual([503, "1"])
  expect(JSON.parse(reply.text)).toMatchObject(body)
})

it("the liveness probe is 503 with its own body", async () => {
  const reply = await Http.send(url, { path: "/api/health/ping" })
  expect([reply.status, JSON.parse(reply.text)]).toEqual([503, { status: "unavailable", version: expect.any(String) as unknown }])
})
