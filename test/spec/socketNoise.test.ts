/** Sockets against noise, limits, leaking upstreams and a gateway that stops. */
import { once } from "node:events"
import * as net from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chance } from "#test/support/chance.ts"
import { inProcess } from "#test/support/gateway.ts"
import { CREDENTIAL, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { startSim } from "#test/support/sim.ts"
import { connect, type Frame } from "#test/support/webSocket.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const paths = ["/v1/ws", "/v1/responses", "/responses", "/api/v1/responses", "/api/live"] as const
const handshake = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

/** A masked frame of a client (RFC 6455, section 5.2); the mask is zero. */
const frame = (opcode: number, payload: Buffer, isLast = true): Buffer => {
  const head = payload.length < 126
    ? Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | payload.length])
    : Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | 126, payload.length >> 8, payload.length & 255])
  return Buffer.concat([head, Buffer.alloc(4), payload])
}

const whole = { "/v1/ws": { type: "request", id: "1", payload: { model: "lab/noise", messages } }, other: { type: "response.create", model: "lab/noise", input: "x" } } as const

describe("every socket", () => {
  it.each(paths)("%s survives random bytes, frames and damaged requests", { timeout: 180_000 }, async (path) => {
    const random = chance()
    const bytes = (most: number): Buffer => Buffer.from(Array.from({ length: random.below(most) }, () => random.below(256)))
    const damaged = (): Buffer => {
      const text = Buffer.from(JSON.stringify(path === "/v1/ws" ? whole[path] : whole.other))
      for (let cuts = random.below(4); cuts >= 0; cuts--) text[random.below(text.length)] = random.below(128)
      return text
    }
    const noise = [
      () => bytes(400),
      () => frame(random.below(16), bytes(300), random.below(2) === 0),
      () => frame(1, damaged()),
      () => Buffer.concat([frame(1, damaged().subarray(0, 10), false), frame(0, damaged().subarray(10))])
    ]
    for (let run = 0; run < 40; run++) {
      const socket = net.connect(Number(new URL(lab.gateway.url).port), "127.0.0.1")
      socket.on("error", () => undefined)
      socket.write(handshake(path))
      await once(socket, "data")
      for (let writes = 1 + random.below(4); writes > 0; writes--) socket.write(random.one(noise)())
      socket.end()
      await Promise.race([once(socket, "close"), once(socket, "data")])
      socket.destroy()
    }
    const alive = await lab.chat({ model: "still-there" })
    expect(alive.status, `seed ${random.seed}`).toBe(200)
  })

  it("tells no credential of a provider, whatever the provider says", async () => {
    await lab.sim.rule({ match: { model: "leak" }, script: { status: 400, error: { message: `your key ${CREDENTIAL} is odd` } } })
    const requests = await connect(lab.gateway.url, "/v1/ws")
    requests.send({ type: "request", id: "1", payload: { model: "lab/leak", messages } })
    const responses = await connect(lab.gateway.url, "/v1/responses")
    responses.send({ type: "response.create", model: "lab/leak", input: "x" })
    const said = JSON.stringify([await requests.next(), await responses.next()])
    expect(said).toContain("error")
    expect(said).not.toContain(CREDENTIAL)
    await requests.close()
    await responses.close()
  })

  it("keeps the limits of its key", async () => {
    const { key } = await lab.gateway.operator.createKey("one a minute", { rateLimits: [{ limit: 1, window: 60 }] })
    const client = await connect(lab.gateway.url, "/v1/ws", { headers: { authorization: `Bearer ${key}` } })
    const ask = async (id: string): Promise<Frame | undefined> => {
      client.send({ type: "request", id, payload: { model: "lab/limited", messages } })
      return (await client.until(({ type }) => type === "response.done" || type === "response.error")).at(-1)
    }
    expect(await ask("1")).toMatchObject({ type: "response.done" })
    expect(await ask("2")).toMatchObject({ type: "response.error", status: 429, error: { code: "rate_limit_exceeded" } })
    const blocked = await lab.gateway.operator.createKey("blocked", { blockedModels: ["lab/*"] })
    const other = await connect(lab.gateway.url, "/v1/responses", { headers: { authorization: `Bearer ${blocked.key}` } })
    other.send({ type: "response.create", model: "lab/blocked", input: "x" })
    expect(await other.next()).toMatchObject({ type: "response.failed", status: 403 })
    expect(await lab.sim.entries({ model: "blocked" })).toEqual([])
    await client.close()
    await other.close()
  })
})

describe("a gateway that stops", () => {
  it("closes idle sockets at once, and ends running streams with an error frame and their row", { timeout: 180_000 }, async () => {
    const sim = await startSim({ models: { "*": {} } })
    await sim.rule({ match: { model: "held" }, script: { hangAfter: { frames: 2 } } })
    const gateway = await inProcess({ environment: { SHUTDOWN_TIMEOUT_MS: "300" } })
    const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
    const idle = await connect(gateway.url, "/v1/ws")
    const busy = await connect(gateway.url, "/v1/ws")
    const turn = await connect(gateway.url, "/v1/responses")
    busy.send({ type: "request", id: "1", payload: { model: "lab/held", messages, stream: true } })
    await busy.until(({ type }) => type === "response.chunk")
    turn.send({ type: "response.create", model: "lab/held", input: "x" })
    await turn.until(({ type }) => type === "response.output_text.delta")
    const closing = gateway.close()
    expect((await idle.ended).code).toBe(1001)
    expect((await busy.until(({ type }) => type === "response.error")).at(-1)).toMatchObject({ id: "1", error: { code: "shutting_down" } })
    expect((await turn.until(({ type }) => type === "error" || type === "response.failed")).at(-1)).toBeDefined()
    expect([(await busy.ended).code, (await turn.ended).code]).toEqual([1001, 1001])
    await closing
    await eventually(() => sim.entries({ model: "held" }), (all) => all.length === 2 && all.every(({ outcome }) => outcome === "client-aborted"), "the end of both calls")
    await sim.stop()
  })
})
