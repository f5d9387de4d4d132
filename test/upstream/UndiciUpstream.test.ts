import { describe, expect, it } from "vitest"
import * as Client from "./support/client.ts"
import * as Server from "./support/scriptedServer.ts"

describe("a call", () => {
  it("delivers status, flat lower-case headers and the body, and sends what was asked", async () => {
    const requests: Array<Server.RequestSeen> = []
    await using server = await Server.start((request) => {
      requests.push(request)
      request.peer.write(Server.answer("hello", "X-Request-Id: r1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"))
    })
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { body: new TextEncoder().encode("{\"é\":1}") }))
    const seen = await run.over
    expect(seen).toMatchObject({ status: 200, ended: true, failure: null, late: 0 })
    expect(run.text()).toBe("hello")
    expect(seen.headers).toEqual(["content-length", "5", "x-request-id", "r1", "set-cookie", "a=1", "set-cookie", "b=2"])
    const request = requests[0]
    expect(request?.head).toContain("POST /v1/x HTTP/1.1")
    expect(request?.head).toContain(`host: 127.0.0.1:${server.port}`)
    expect(request?.head).toContain("content-length: 8")
    expect(request?.head).toContain("accept-encoding: identity")
    expect(request?.head).not.toMatch(/expect/i)
    expect(request?.body.toString()).toBe("{\"é\":1}")
  })

  it("reuses its socket for the next call", async () => {
    await using server = await Server.start(({ peer }) => peer.write(Server.answer("ok")))
    await using client = await Client.open()
    for (let i = 0; i < 5; i++) {
      await Client.run(client.upstream, Client.requestTo(server.origin)).over
      await new Promise(setImmediate)
      await new Promise(setImmediate)
    }
    expect(server.peers.length).toBe(1)
  })
})
