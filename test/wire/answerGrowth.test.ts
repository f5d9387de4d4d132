/** What an answer costs grows with its bytes alone, whole or as a stream, in every pair of formats: an upstream cannot hold the loop with many small things. */
import { describe, expect, it } from "vitest"
import type { Annotation, FamilyName, MediaPart } from "#schemas/wire/conversation.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as Formats from "#src/wire/formats.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { FreeText } from "#src/wire/stream/FreeText.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { EncoderOptions, StreamSink } from "#src/wire/stream/StreamSink.ts"
import { growthOf } from "#test/support/late.ts"

const names = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"] as const

const optionsOf = (): EncoderOptions => {
  let id = 0
  return { model: "m", includeUsage: true, request: {}, makeId: () => String(id++).padStart(24, "0"), now: () => 1 }
}

const usage = { input: 1, output: 5, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
const emptyArguments = escape("{}")
const annotation = (i: number): Annotation => ({ kind: "url", url: `https://x.test/${i}`, title: "t", citedText: "x", start: i, end: i + 1, document: null, native: null })
const image: MediaPart = {
  kind: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" }, detail: null, name: null, context: null, citations: null, cache: null, signature: null
}

type Say = (sink: StreamSink, n: number, family: FamilyName) => void
const each = (say: (sink: StreamSink, i: number, family: FamilyName) => void): Say => (sink, n, family) => {
  for (let i = 0; i < n; i++) say(sink, i, family)
}

const shapes: Readonly<Record<string, Say>> = {
  "pieces of text": each((sink) => sink.text(0, "word ")),
  "pieces with escapes": each((sink) => sink.text(0, escape("wörd\n\""))),
  "texts": each((sink) => {
    sink.text(0, "x")
    sink.partEnd(0)
  }),
  "calls, one after the other": each((sink, i) => {
    sink.toolCall(0, i, `c${i}`, "f", false, null)
    sink.toolArguments(0, i, emptyArguments)
    sink.partEnd(0)
  }),
  "calls at once": (sink, n, family) => {
    each((to, i) => to.toolCall(0, i, `c${i}`, "f", false, null))(sink, n, family)
    each((to, i) => to.toolArguments(0, i, emptyArguments))(sink, n, family)
  },
  "calls at once, the last first": (sink, n, family) => {
    each((to, i) => to.toolCall(0, i, `c${i}`, "f", false, null))(sink, n, family)
    each((to, i) => to.toolArguments(0, n - 1 - i, emptyArguments))(sink, n, family)
  },
  "pieces of two calls in turns": (sink, n) => {
    for (const call of [0, 1]) sink.toolCall(0, call, `c${call}`, "f", false, null)
    for (const call of [0, 1]) sink.toolArguments(0, call, escape("{\"a\":\""))
    for (let i = 0; i < n; i++) sink.toolArguments(0, i % 2, "abcde")
    for (const call of [0, 1]) sink.toolArguments(0, call, escape("\"}"))
  },
  // Neither call is whole while the other goes on.
  "pieces of long calls in turns": (sink, n) => {
    for (const call of [0, 1]) sink.toolCall(0, call, `c${call}`, "f", false, null)
    for (const call of [0, 1]) sink.toolArguments(0, call, escape("{\"a\":["))
    for (let i = 0; i < n; i++) sink.toolArguments(0, i % 2, escape("\"\\n\",".repeat(100)))
    for (const call of [0, 1]) sink.toolArguments(0, call, escape("0]}"))
  },
  "citations of one text": (sink, n, family) => {
    sink.text(0, "é".repeat(n))
    each((to, i) => to.annotation(0, annotation(i)))(sink, n, family)
  },
  "cited pieces": each((sink, i) => {
    sink.text(0, "é")
    sink.annotation(0, annotation(i))
  }),
  "signed thoughts": each((sink, _, family) => {
    sink.reasoning(0, "t", false)
    sink.signature(0, { family, value: "c2lnbmVk" })
    sink.partEnd(0)
    sink.text(0, "x")
    sink.partEnd(0)
  }),
  "signatures of one thought": (sink, n, family) => {
    sink.reasoning(0, "t".repeat(10 * n), false)
    each((to) => to.signature(0, { family, value: "c2lnbmVk" }))(sink, n, family)
  },
  "choices": each((sink, i) => {
    sink.text(i, "x")
    sink.partEnd(i)
    sink.finish(i, "stop", null)
  }),
  "log probabilities": each((sink) => {
    sink.text(0, "x")
    sink.logprobs(0, [{ token: "x", logprob: -1, bytes: null, top: [] }])
  }),
  "images": each((sink) => {
    sink.media(0, image)
    sink.partEnd(0)
  })
}

const play = (say: Say, n: number, family: FamilyName, sink: StreamSink): void => {
  sink.start({ id: "a", model: "m", createdAt: 1, serviceTier: null, systemFingerprint: null })
  say(sink, n, family)
  sink.partEnd(0)
  sink.finish(0, "stop", null)
  sink.tokens(usage)
  sink.done()
}

const streamOf = (say: Say, n: number, family: FamilyName): Buffer => {
  const encoder = Formats.client(family).makeEncoder(optionsOf())
  play(say, n, family, encoder)
  return Buffer.from(encoder.take())
}

const answerOf = (say: Say, n: number, family: FamilyName): Buffer => {
  const builder = new AnswerBuilder()
  play(say, n, family, builder)
  return Buffer.from(Formats.client(family).encodeAnswer(builder.answer(), optionsOf()))
}

/** As it comes from a socket. */
const piecesOf = (bytes: Buffer): ReadonlyArray<Buffer> =>
  Array.from({ length: Math.ceil(bytes.length / 4_096) }, (_, i) => bytes.subarray(4_096 * i, 4_096 * (i + 1)))

const few = 250
const times = 12
/** Of what is linear; what is quadratic takes `times` more. */
const bound = times * 4

/** Reads what an upstream of one format says for a client of each. */
const translated = (family: FamilyName, stream: Buffer, answer: Buffer): void => {
  for (const face of names) {
    const make = face === family ? Dialects.passThrough : Dialects.translating
    const dialect = make(Formats.client(face), Formats.family(family), optionsOf())
    const tap = face === family ? dialect.makeRecoverableTap({ forwardUsage: true }) : dialect.makeTap({ forwardUsage: true })
    for (const piece of piecesOf(stream)) tap.push(piece)
    tap.end()
    tap.close()
    dialect.readAnswer(answer)?.outputText()
    dialect.replayAnswer(answer, { forwardUsage: true })
    if (face !== family) continue
    dialect.viewAnswer(answer)?.document()
    const reader = dialect.makeReader()
    for (const piece of piecesOf(stream)) reader.push(piece)
    reader.end()
  }
}

/** Each chunk of this format may cite what was said so far. */
const citedChunks = (n: number): Buffer => Buffer.from(Array.from({ length: n }, (_, i) => `data: ${JSON.stringify({
  candidates: [{
    content: { role: "model", parts: [{ text: "é".repeat(200) }] },
    groundingMetadata: { groundingChunks: [{ web: { uri: "https://x.test" } }], groundingSupports: [{ segment: { startIndex: 400 * i, endIndex: 400 * i + 2 }, groundingChunkIndices: [0] }] }
  }]
})}\n\n`).join(""))

it("a stream whose every chunk cites what was said so far", () => {
  const said = new Map([few, few * times].map((n) => [n, citedChunks(n)]))
  const grown = growthOf((n) => {
    const tap = Dialects.translating(Formats.client("chat-completions"), Formats.family("generateContent"), optionsOf()).makeTap({ forwardUsage: true })
    for (const piece of piecesOf(said.get(n) ?? Buffer.alloc(0))) tap.push(piece)
    tap.end()
    tap.close()
  }, few, times, bound)
  expect(grown).toBeLessThan(bound)
})

it("free text of a tool in arguments of another shape", () => {
  const grown = growthOf((n) => {
    const text = new FreeText()
    text.push(escape("{\"text\":\""))
    for (let i = 0; i < 20 * n; i++) text.push("word ")
    text.push(escape("\"}"))
    text.end()
  }, few, times, bound)
  expect(grown).toBeLessThan(bound)
})

describe.each(Object.entries(shapes))("an answer of many %s", (_, say) => {
  it.each(names)("from %s", (family) => {
    const said = new Map([few, few * times].map((n) => [n, { stream: streamOf(say, n, family), answer: answerOf(say, n, family) }]))
    const grown = growthOf((n) => {
      streamOf(say, n, family)
      translated(family, said.get(n)?.stream ?? Buffer.alloc(0), said.get(n)?.answer ?? Buffer.alloc(0))
    }, few, times, bound)
    expect(grown).toBeLessThan(bound)
  })
})
