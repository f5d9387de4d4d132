/** Images of servers that are asked by `:predict`. */
import { describe, expect, it } from "vitest"
import { Pieces } from "#actors/request/ports/Body.ts"
import { PublicError } from "#schemas/errors.ts"
import { codec } from "#src/wire/images/codec.ts"

const encode = (body: Record<string, unknown>) =>
  codec.encode("images/predict", { bytes: Buffer.from(JSON.stringify(body)), parsed: body, form: null, model: "imagen" })
const read = (body: unknown) => {
  const head = { model: "a/imagen", stream: false, wantsUsage: false, count: 1 }
  return codec.read("images/predict", Buffer.from(JSON.stringify(body)), { head, note: null, model: "a/imagen", now: 1_795_219_200, makeId: () => "1", price: null, elapsed: () => ({ requestMs: 0, callMs: 0 }), estimate: () => 0 })
}

describe("images by :predict", () => {
  it("are asked for as instances and parameters, and what cannot be said is omitted", () => {
    const made = encode({ model: "a/imagen", prompt: "a cat", n: 2, size: "1536x1024", quality: "high" })
    if (made instanceof PublicError || made.body instanceof Pieces) throw new Error("no body in memory")
    expect(JSON.parse(Buffer.from(made.body).toString())).toEqual({ instances: [{ prompt: "a cat" }], parameters: { sampleCount: 2, aspectRatio: "3:2" } })
    expect(made.omitted).toEqual(["quality"])
  })

  it("have no address", () => expect(encode({ prompt: "a", response_format: "url" })).toBeInstanceOf(PublicError))

  it("are given in the clients' format and counted, without those that a filter left out", () => {
    const facts = read({ predictions: [{ bytesBase64Encoded: "QQ==", mimeType: "image/png" }, { raiFilteredReason: "no" }] })
    expect(JSON.parse(Buffer.from(facts?.body ?? []).toString())).toEqual({ created: 1_795_219_200, data: [{ b64_json: "QQ==" }] })
    expect(facts?.units).toEqual({ image: 1 })
  })

  it("are none where every one was left out", () => expect(read({ predictions: [] })).toBeNull())
})
