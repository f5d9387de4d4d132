/** Files that are sent while they are made, under Idempotency-Keys: what is kept of them for repeats is bounded over all calls. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { piecesOf, toneOf } from "#src/simulator/formats/audio.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const long = "word ".repeat(40)
const short = "word ".repeat(20)
/** What comes of a call that then hangs. */
const frames = 7
const held = Buffer.concat(piecesOf(toneOf(long)).slice(0, frames))
/** Not for a short file beside those bytes. */
const room = held.length + toneOf(short).length - 1

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { GATEWAY_REPEATED_FILES_BYTES: String(room) } })
  await lab.gateway.operator.call("PUT", "/api/settings/cache-config", { idempotencyWindowMs: 60_000 })
})
afterAll(() => lab.close())

const callOf = (model: string, key: string, input: string): Http.Call =>
  ({ path: "/v1/audio/speech", headers: { "idempotency-key": key }, body: { model: `lab/${model}`, input, voice: "alloy", response_format: "wav" } })
/** How many calls a request and its repeat make, and whether the repeat is the same file. */
const twice = async (model: string, input: string) => {
  const call = callOf(model, `key of ${model}`, input)
  const [first, again] = [await Http.send(lab.gateway.url, call), await Http.send(lab.gateway.url, call)]
  expect([first.status, again.status, again.bytes.equals(first.bytes), first.bytes.equals(toneOf(input))]).toEqual([200, 200, true, true])
  return { calls: (await lab.sim.entries({ model })).length, replayed: again.headers["x-gateway-idempotent"] ?? null }
}

it("a file beyond the room is sent, and its repeat makes a call of its own; given back, the room serves again", async () => {
  expect(await twice("rf-alone", short)).toEqual({ calls: 1, replayed: "true" })
  await lab.sim.rule({ match: { model: "rf-held" }, script: { hangAfter: { frames } } })
  const opened = await Http.stream(lab.gateway.url, callOf("rf-held", "held", long))
  // A last character may be incomplete.
  await opened.until((text) => text.length >= held.toString("utf8").length - 4)
  expect(await twice("rf-beside", short)).toEqual({ calls: 2, replayed: null })
  opened.leave()
  await eventually(() => lab.sim.entries({ model: "rf-held" }), ([one]) => one?.outcome === "client-aborted", "the end of the held call")
  expect(await twice("rf-after", short)).toEqual({ calls: 1, replayed: "true" })
  expect(await twice("rf-larger", long + long)).toEqual({ calls: 2, replayed: null })
})
