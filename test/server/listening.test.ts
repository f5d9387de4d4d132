import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as Net from "node:net"
import { describe, expect, it } from "vitest"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { MAX_HEAD_BYTES } from "#src/platform/server/headLimit.ts"
import { ListenError } from "#src/platform/server/Listener.ts"
import * as UwsHttpServer from "#src/platform/server/uws/UwsHttpServer.ts"
import { start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"
import { makeCertificate } from "./support/tls.ts"

const failure = (options: Parameters<typeof UwsHttpServer.make>[0]): Promise<ListenError> =>
  Effect.runPromise(Effect.scoped(Effect.flip(Effect.asVoid(UwsHttpServer.make(options)))))

describe("listening", () => {
  it("reports the port it got for port 0, as a layer with both services", async () => {
    const seen = await Effect.runPromise(Effect.gen(function*() {
      const server = yield* HttpServer.HttpServer
      const frontEnd = yield* FrontEnd
      const response = yield* Effect.promise(() => fetch(`${HttpServer.formatAddress(server.address)}/`))
      return [HttpServer.formatAddress(frontEnd.address), frontEnd.port, response.status] as const
    }).pipe(Effect.provide(UwsHttpServer.layer({ port: 0 }))))
    expect(seen[1]).toBeGreaterThan(0)
    expect(seen).toEqual([`http://127.0.0.1:${seen[1]}`, seen[1], 503])
  })

  it("fails on a port that another server has, naming the address and what to do", async () => {
    const first = await start()
    const error = await failure({ port: first.port })
    expect(error).toBeInstanceOf(ListenError)
    expect(error).toMatchObject({ _tag: "ServeError", reason: "AddressInUse", host: "127.0.0.1", port: first.port })
    expect(error.message).toContain(`127.0.0.1:${first.port}: the port is in use`)
    expect(error.message).toContain("reusePort")
    const other = Net.createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    expect((await failure({ port: (other.address() as Net.AddressInfo).port })).reason).toBe("AddressInUse")
    other.close()
    await first.stop()
    await (await start({ port: first.port })).stop()
  })

  it("shares a port only when every process asks for it", async () => {
    const free = await start()
    await free.stop()
    const first = await start({ port: free.port, reusePort: true })
    const second = await start({ port: first.port, reusePort: true })
    expect(second.port).toBe(first.port)
    expect((await failure({ port: first.port })).reason).toBe("AddressInUse")
  })

  it("says why other addresses cannot be used", async () => {
    expect(await failure({ port: 0, host: "192.0.2.1" })).toMatchObject({ reason: "AddressUnavailable" })
    expect(await failure({ port: 0, host: "no-such-host.invalid" })).toMatchObject({ reason: "HostUnknown" })
    expect(await failure({ port: 0, tls: { keyFile: "/nonexistent/key.pem", certFile: "/nonexistent/cert.pem" } }))
      .toMatchObject({ reason: "TlsUnusable", message: expect.stringContaining("keyFile") })
  })

  it("resolves host names", async () => {
    const { frontEnd } = await start({ host: "localhost" })
    expect(frontEnd.port).toBeGreaterThan(0)
  })

  it("speaks TLS with a certificate from files, with and without a passphrase", async () => {
    for (const passphrase of [undefined, "secret"]) {
      const { cert, certFile, keyFile, remove } = makeCertificate(passphrase)
      const { frontEnd, port } = await start({ tls: { certFile, keyFile, passphrase } }, Effect.succeed(HttpServerResponse.text("x".repeat(1_000_000))))
      frontEnd.direct("GET", "/direct", (exchange) => exchange.respond(200, [], exchange.remoteAddress))
      const client = await RawClient.connectTls(port, cert)
      client.get("/direct")
      expect((await client.response()).body.toString()).toBe("127.0.0.1")
      client.get("/")
      expect((await client.response()).body.length).toBe(1_000_000)
      if (passphrase !== undefined) {
        expect(await failure({ port: 0, tls: { certFile, keyFile, passphrase: "wrong" } })).toMatchObject({ reason: "TlsUnusable" })
      }
      remove()
    }
  })
})

describe("request heads", () => {
  it("of up to 16 KiB are accepted, larger ones are 431, and new connections are served", async () => {
    const { port } = await start()
    const ask = async (bytes: number) => {
      const client = await RawClient.connect(port)
      client.get("/", `X-Filler: ${"x".repeat(bytes)}\r\n`)
      await client.until("an answer", () => client.received.length > 20)
      const status = client.received.toString("latin1", 9, 12)
      if (status === "431") await client.closed()
      client.destroy()
      return status
    }
    expect(await ask(MAX_HEAD_BYTES - 300)).toBe("404")
    expect(await ask(MAX_HEAD_BYTES + 300)).toBe("431")
    expect(await ask(1_000_000)).toBe("431")
    expect(await ask(10)).toBe("404")
  })

  it("that grow for ever are cut off", async () => {
    const { port } = await start()
    const client = await RawClient.connect(port)
    client.send("GET / HTTP/1.1\r\nHost: test\r\n")
    for (let n = 0; n < 200 && !client.ended; n++) {
      client.send(`X-${n}: ${"x".repeat(200)}\r\n`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await client.closed()
    expect(client.received.toString("latin1", 9, 12)).toBe("431")
  })

  it("that are not HTTP are refused and closed", async () => {
    const { port } = await start()
    for (const [bytes, status] of [["GET / HTTP/1.0\r\n\r\n", "505"], ["\x16\x03\x01\r\n\r\n", "505"]] as const) {
      const client = await RawClient.connect(port)
      client.send(bytes)
      await client.closed()
      expect(client.received.toString("latin1", 9, 12)).toBe(status)
    }
  })
})
