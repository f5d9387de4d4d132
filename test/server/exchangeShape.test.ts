/** The memory of an exchange, whatever collections V8 makes meanwhile. */
import { expect, it } from "vitest"
import { compactHeap } from "#src/platform/structures/compactHeap.ts"
import { start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

/** Less than an exchange takes, and less than it takes where its fields lie outside. */
const OBJECT_BYTES = 300
const PROPERTY_LISTS_BYTES = 1_500

it("is the same after a full collection that follows the sixth request of the process", async () => {
  const { frontEnd, port } = await start()
  let make = nothing
  frontEnd.direct("GET", "/n", (exchange) => {
    // No exchange may stay alive: its shape would.
    const { constructor } = exchange
    const host: unknown = Reflect.get(exchange, "host")
    make = () => void Reflect.construct(constructor, [inert, asked, host])
    exchange.respond(200, [], "")
  })
  const client = await RawClient.connect(port)
  for (let n = 0; n < 6; n++) {
    client.get("/n")
    await client.response()
  }
  await compactHeap()
  const bytes = bytesOf(make)
  expect(bytes).toBeGreaterThan(OBJECT_BYTES)
  expect(bytes).toBeLessThan(PROPERTY_LISTS_BYTES)
})

const COUNT = 200
const nothing = (): void => {}
const inert = { onAborted: nothing, close: nothing }
const asked = { getCaseSensitiveMethod: () => "GET", getUrl: () => "/", getQuery: () => "", forEach: nothing }

/** Bytes that one call allocates, of some hundred. */
const bytesOf = (make: () => void): number => {
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < COUNT; i++) make()
  return (process.memoryUsage().heapUsed - before) / COUNT
}
