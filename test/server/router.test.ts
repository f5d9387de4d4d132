import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { describe, expect, it } from "vitest"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { exactPaths } from "#src/platform/server/ServerOptions.ts"
import * as UwsHttpServer from "#src/platform/server/uws/UwsHttpServer.ts"
import { latch } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

const interrupted = latch()

const routes = Layer.mergeAll(
  HttpRouter.add("GET", "/models/:id", HttpRouter.params.pipe(Effect.map((params) => HttpServerResponse.text(params["id"] ?? "")))),
  HttpRouter.add("GET", "/wait", Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted.open())))
)

const withRouter = async (use: (port: number) => Promise<void>): Promise<ReadonlyArray<unknown>> => {
  const logged: Array<unknown> = []
  const logger = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
  const layer = HttpRouter.serve(routes, { disableListenLog: true, routerConfig: exactPaths }).pipe(
    Layer.provideMerge(UwsHttpServer.layer({ port: 0, gracefulShutdownTimeout: 0 })),
    Layer.provideMerge(logger)
  )
  await Effect.runPromise(Effect.provide(FrontEnd.use((frontEnd) => Effect.promise(() => use(frontEnd.port))), layer))
  return logged
}

describe("effect's router on this server", () => {
  it("routes, answers 404, and interrupts a route whose client goes, without a log line per request", async () => {
    const logged = await withRouter(async (port) => {
      const client = await RawClient.connect(port)
      client.get("/models/a%2Fb")
      expect((await client.response()).body.toString()).toBe("a/b")
      client.get("/nothing")
      expect((await client.response()).status).toBe(404)
      client.get("/wait")
      await new Promise((resolve) => setImmediate(resolve))
      client.socket.end()
      await interrupted.promise
    })
    expect(logged).toEqual([])
  })

  it("matches case and slashes exactly when it is configured so", async () => {
    await withRouter(async (port) => {
      const client = await RawClient.connect(port)
      const answers: Array<string> = []
      for (const path of ["/models/a", "/Models/a", "//models/a", "/models//a", "/models/a/"]) {
        client.get(path)
        answers.push(`${path} ${(await client.response()).status}`)
      }
      expect(answers).toEqual(["/models/a 200", "/Models/a 404", "//models/a 404", "/models//a 404", "/models/a/ 404"])
    })
  })
})
