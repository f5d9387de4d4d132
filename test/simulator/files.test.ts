/** Files of the simulator: real ones, read by readers that know nothing of it, and the same for the same name. */
import { inflateSync } from "node:zlib"
import { extractText, getDocumentProxy } from "unpdf"
import { afterAll, beforeAll, expect, it } from "vitest"
import * as SoundLength from "#src/wire/audio/soundLength.ts"
import * as Http from "#test/support/http.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

let sim: Sim
beforeAll(async () => {
  sim = await startSim()
})
afterAll(() => sim.stop())

const get = (name: string) => Http.send(sim.url, { method: "GET", path: `/files/${name}` })

it.each([["a-cake.png", "image/png"], ["a-cake.wav", "audio/wav"], ["a-cake.mp4", "video/mp4"], ["a-cake.pdf", "application/pdf"]])("%s has its type, and the same bytes each time", async (name, type) => {
  const [first, again, other] = [await get(name), await get(name), await get(name.replace("cake", "tree"))]
  expect([first.status, first.headers["content-type"], first.bytes.equals(again.bytes), first.bytes.equals(other.bytes)]).toEqual([200, type, true, false])
})

it("a picture has all its pixels", async () => {
  const { bytes } = await get("a-cake.png")
  expect([bytes.toString("latin1", 1, 4), bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual(["PNG", 8, 8])
  const at = bytes.indexOf("IDAT")
  expect(inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4))).length).toBe(8 * 2)
})

it("a sound says how long it is", async () => {
  const { bytes } = await get("a-cake.wav")
  expect([bytes.toString("latin1", 0, 4), SoundLength.secondsOf(bytes)]).toEqual(["RIFF", (bytes.length - 44) / 8_000])
})

it("a document holds its text", async () => {
  const { text, totalPages } = await extractText(await getDocumentProxy(new Uint8Array((await get("a-cake.pdf")).bytes)), { mergePages: true })
  expect([totalPages, text]).toEqual([1, "a-cake"])
})

it("a name without a kind is no file", async () => {
  expect((await get("a-cake")).status).toBe(404)
  expect((await get("a-cake.exe")).status).toBe(404)
})
