import { describe, expect, it } from "vitest"
import type { Conversation } from "#schemas/wire/conversation.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Formats from "#src/wire/formats.ts"
import { promptOf } from "#bench/micro/translate/prompts.ts"
import * as LiteralRanges from "#src/wire/json/literalRanges.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"
import { writeRequest } from "#src/wire/writeRequest.ts"

const traits: TargetTraits = { model: "target", stream: true, maxOutputTokens: 8192, reasoning: false, streamOptions: true, previousResponseId: "auto" }
const families = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"] as const
const chat = Formats.clients[0]!

const decoded = (parsed: Record<string, unknown>): Conversation => {
  const conversation = chat.decodeRequest(parsed)
  if (conversation instanceof PublicError) throw conversation
  return conversation
}

/** What goes to the target, by the marks and by the codec alone. */
const both = (raw: string | Buffer, family: typeof families[number]): { readonly written: string; readonly encoded: string } => {
  const body = Buffer.from(raw)
  const parsed = JSON.parse(body.toString("utf8")) as Record<string, unknown>
  const conversation = decoded(parsed)
  const written = writeRequest(conversation, { body, parsed }, Formats.family(family), traits)
  const encoded = Formats.family(family).encodeRequest(conversation, traits)
  if (written instanceof PublicError || encoded instanceof PublicError) throw new Error("refused")
  expect(written.omitted).toEqual(encoded.omitted)
  return { written: written.body.toString("utf8"), encoded: encoded.body }
}

const long = 'said "so" \\ and\nso\t\u00e9 \u6f22\u5b57 \ud83d\ude80 \u0001 {"model":"x"} '.repeat(200)
const image = Buffer.from(Array.from({ length: 9_000 }, (_, i) => i % 97 < 40 ? 255 : i * 31)).toString("base64")
const user = (content: unknown) => ({ role: "user", content })

describe.each(families)("a long prompt to %s", (family) => {
  it("says what the codec would have written", () => {
    const raw = JSON.stringify({
      model: "m", temperature: 0.5, messages: [
        { role: "system", content: long }, user([{ type: "text", text: long + long }, { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }]),
        { role: "assistant", content: `${long}!` }, user("short")
      ]
    })
    const { encoded, written } = both(raw, family)
    expect(JSON.parse(written)).toEqual(JSON.parse(encoded))
  })

  it("keeps the client's own spelling of a literal, whatever its white space", () => {
    const text = "\\u00e9\\/\\u0041".repeat(2_000)
    const { encoded, written } = both(`{ "model" : "m" ,\r\n\t"n":1, "messages": [ {"content" :"${text}", "role":"user" } ] , "metadata": {} }`, family)
    expect(JSON.parse(written)).toEqual(JSON.parse(encoded))
    expect(written).toContain("\\u00e9\\/\\u0041")
    expect(encoded).not.toContain("\\/")
  })

  it.each([
    ["a key twice", `{"model":"m","messages":[{"role":"user","content":"A","content":${JSON.stringify(long)}}]}`],
    ["two long values of one key", `{"model":"m","messages":[{"role":"user","content":${JSON.stringify(`a${long}`)},"content":${JSON.stringify(long)}}]}`],
    ["a key with escapes", `{"model":"m","messages":[{"role":"user","c\\u006fntent":${JSON.stringify(long)}}]}`],
    ["numbers as keys", `{"model":"m","metadata":{"b":"1","2":"x","1":"y"},"messages":[{"role":"user","content":${JSON.stringify(long)}}]}`],
    ["bytes that are no UTF-8", Buffer.concat([Buffer.from('{"model":"m","messages":[{"role":"user","content":"'), Buffer.alloc(5_000, 0xff), Buffer.from('"}]}')])]
  ])("%s: is written by the codec", (_, raw) => {
    const { encoded, written } = both(raw, family)
    expect(written).toBe(encoded)
  })
})

describe("marks", () => {
  it("a mark that comes out inside an inner string, twice or not at all is not trusted", () => {
    const body = Buffer.from(JSON.stringify({ model: "m", messages: [user(long)] }))
    const parsed = JSON.parse(body.toString("utf8")) as Record<string, unknown>
    for (const spoil of [(text: string) => JSON.stringify({ inner: text }), (text: string) => text + text, () => "{}", (text: string) => text.replace(/0;/, "7;")]) {
      const real = Formats.family("messages")
      const family: typeof real = {
        ...real,
        encodeRequest: (conversation, given) => {
          const encoded = real.encodeRequest(conversation, given)
          return encoded instanceof PublicError || encoded.body.includes("said") ? encoded : { ...encoded, body: spoil(encoded.body) }
        }
      }
      const written = writeRequest(decoded(parsed), { body, parsed }, family, traits)
      expect(written instanceof PublicError ? null : written.body.toString("utf8")).toContain("said")
    }
  })

  it.each(["chat-completions", "messages", "responses", "generateContent", "local-model-server"] as const)("the data of an image of %s are whole, also of two that end alike, and with escapes", (name) => {
    const face = Formats.client(name)
    const other = `AAAA${image}`
    const uri = (data: string): string => `data:image/png;base64,${data}`
    const inline = (data: string): Record<string, unknown> => ({ role: "user", parts: [{ text: "?" }, { inlineData: { mimeType: "image/png", data } }] })
    const own = (data: string): Record<string, unknown> => ({ role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data } }] })
    const asked = (url: string): Record<string, unknown> => user([{ type: "image_url", image_url: { url } }])
    const given = (url: string): Record<string, unknown> => user([{ type: "input_image", image_url: url, detail: "auto" }])
    const bodies = {
      "chat-completions": { model: "m", messages: [asked(uri(other)), asked(uri(image))] },
      "messages": { model: "m", max_tokens: 9, messages: [own(other), own(image)] },
      "responses": { model: "m", input: [given(uri(other)), given(uri(image))] },
      "generateContent": { model: "m", contents: [inline(other), inline(image)] },
      "local-model-server": { model: "m", messages: [{ role: "user", content: "?", images: [other, image] }] }
    }
    const plain = JSON.stringify(bodies[name])
    for (const raw of [plain, plain.replaceAll("//", "/\\/")]) {
      const body = Buffer.from(raw)
      const parsed = JSON.parse(raw) as Record<string, unknown>
      const conversation = face.decodeRequest(parsed)
      if (conversation instanceof PublicError) throw conversation
      for (const family of families) {
        const written = writeRequest(conversation, { body, parsed }, Formats.family(family), traits)
        const encoded = Formats.family(family).encodeRequest(conversation, traits)
        if (written instanceof PublicError || encoded instanceof PublicError) throw new Error("refused")
        expect(JSON.parse(written.body.toString("utf8"))).toEqual(JSON.parse(encoded.body))
      }
    }
  })

  it("texts that a vendor's rule reads are left in their place", () => {
    const { encoded, written } = both(JSON.stringify({ model: "m", response_format: { type: "json_object" }, messages: [user(`JSON ${long}`)] }), "responses")
    expect(written).toBe(encoded)
  })

  it("a refusal is a refusal", () => {
    const body = Buffer.from(JSON.stringify({ model: "m", n: 3, messages: [user(long)] }))
    const parsed = JSON.parse(body.toString("utf8")) as Record<string, unknown>
    expect(writeRequest(decoded(parsed), { body, parsed }, Formats.family("messages"), traits)).toBeInstanceOf(PublicError)
  })
})

describe("literal ranges", () => {
  const find = (raw: string, parsed = JSON.parse(raw) as Record<string, unknown>) => LiteralRanges.find(Buffer.from(raw), parsed, 5)

  it("finds the bytes between the quotes, at any depth", () => {
    const raw = '{"a":[1,-2.5e+3,true,null,{"b":"lo\\"ng\\\\"}],"c":"short","d":"x"}'
    const range = find(raw)?.get('lo"ng\\')
    expect(range === undefined ? null : Buffer.from(raw).toString("utf8", range.start, range.end)).toBe('lo\\"ng\\\\')
    expect(find(raw)?.size).toBe(2)
  })

  it("takes members that stand behind those of the body, at the top only", () => {
    expect(find('{"a":"longer"}', { a: "longer", model: "m", stream: true })?.size).toBe(1)
    expect(find("{}", { model: "m" })?.size).toBe(0)
    expect(find('{"a":{}}', { a: { b: 1 } })).toBeNull()
    expect(find('{"a":"longer"}', {})).toBeNull()
  })

  it("gives up where body and value part, and on a depth that would break the stack", () => {
    expect(find('{"a":1,"a":"longer"}')).toBeNull()
    expect(find('{"b":"longer","1":2}')).toBeNull()
    expect(find('{"a":"longer', { a: "longer" })).toBeNull()
    expect(find("", { a: "longer" })).toBeNull()
    expect(find(`{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`)).toBeNull()
  })
})

describe.each(Formats.clients.filter(({ name }) => name !== "completions"))("an image of $name that is not quite base64", (face) => {
  const spoilt = { "a quote": '"', "a line end": "\n", "an escape": "\\u0022", "a wide character": "\u0141", "the URL alphabet": "-_", "padding inside": "=" }

  it.each(Object.entries(spoilt))("holds %s: it is refused, or written as its codec writes it", (_, piece) => {
    const prompt = promptOf(face.name, "image", 9_000)
    const text = JSON.stringify(prompt)
    const at = text.indexOf("image", 40) + 3_000
    const body = Buffer.from(text.slice(0, at) + JSON.stringify(piece).slice(1, -1) + text.slice(at))
    const parsed = JSON.parse(body.toString("utf8")) as Record<string, unknown>
    const conversation = face.decodeRequest(parsed)
    if (conversation instanceof PublicError) return expect(conversation.status).toBe(400)
    for (const family of families) {
      const written = writeRequest(conversation, { body, parsed }, Formats.family(family), traits)
      const encoded = Formats.family(family).encodeRequest(conversation, traits)
      if (written instanceof PublicError || encoded instanceof PublicError) throw new Error("refused")
      expect(JSON.parse(written.body.toString("utf8"))).toEqual(JSON.parse(encoded.body))
    }
  })
})
