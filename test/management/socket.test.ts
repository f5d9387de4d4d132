/** The same rules with bytes that no URL parser has tidied before. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as net from "node:net"
import { createServer } from "node:http"
import { layer as managementLayer } from "#src/Management.ts"
import * as Management from "#test/support/management.ts"

/** Writes raw bytes and answers the status line's code. */
const send = (port: number, text: string): Effect.Effect<string> => Effect.callback((resume) => {
  const socket = net.connect(port, "127.0.0.1", () => socket.end(text))
  let reply = ""
  socket.on("data", (chunk) => {
    reply += chunk.toString()
  })
  socket.on("close", () => resume(Effect.succeed(reply)))
  socket.on("error", () => resume(Effect.succeed(reply)))
})

const request = (target: string, method = "GET", extra = "") =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${extra}\r\n`

describe("over a socket", () => {
  it.live("bent request targets are unknown routes, and loopback alone opens nothing", () => Effect.scoped(Effect.gen(function*() {
    const { context } = yield* Management.make()
    const server = yield* Layer.build(HttpRouter.serve(managementLayer(), {
      disableLogger: true, disableListenLog: true,
      routerConfig: { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false }
    }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
      Layer.provide(Layer.succeedContext(context))
    ))
    const { get } = yield* Effect.promise(() => import("effect/Context"))
    const { address } = get(server, HttpServer.HttpServer)
    const port = address._tag === "UnixPathAddress" ? 0 : address.port
    for (const target of ["/api/../api/keys", "/api/keys/../keys", "/api/%2e%2e/api/keys", "/api/./keys", "/api/keys#x", "/api\\keys", "/%61pi/keys"]) {
      assert.match(yield* send(port, request(target)), /^HTTP\/1\.1 40[04] /, target)
    }
    assert.match(yield* send(port, request("/api/keys")), /^HTTP\/1\.1 401 /)
    assert.match(yield* send(port, request("/api/health/ping?x=/api/keys")), /^HTTP\/1\.1 200 /)
    const body = "x".repeat(100)
    assert.match(yield* send(port, request("/api/auth/login", "POST", `Content-Type: application/json\r\nContent-Length: 99999999\r\n`) + body), /^HTTP\/1\.1 413 /)
    assert.match(yield* send(port, request("/api/auth/login", "POST", `Content-Type: application/json\r\nContent-Length: 4\r\n`) + "nope"), /^HTTP\/1\.1 400 .*invalid_json/s)
  })))
})
