/**
 * The one definition of what the mock sends and what every client must receive, byte for byte.
 *
 * The model name says what the mock shall do: `m-json`, `m-paced-<interval ms>-<events>`, `m-burst-<events>`,
 * `m-bulk-<events>`, `m-embedding`, `m-sound-<megabytes>`. Content events have a fixed width. Paced events carry the mock's clock in a 16-digit field, so that
 * the delay of each event can be measured; the check reads that field instead of comparing it.
 */

import { soundOf } from "./sound.ts"

export const STAMP_DIGITS = 16
const INDEX_DIGITS = 8
const BULK_PADDING = 900
const ZERO_STAMP = "0".repeat(STAMP_DIGITS)

export type Script =
  | { readonly kind: "json" }
  | { readonly kind: "paced"; readonly intervalMs: number; readonly events: number }
  | { readonly kind: "burst"; readonly events: number }
  | { readonly kind: "bulk"; readonly events: number }
  | { readonly kind: "embedding" }
  | { readonly kind: "sound"; readonly megabytes: number }

export type StreamScript = Extract<Script, { readonly events: number }>

export const modelOf = (script: Script): string => {
  switch (script.kind) {
    case "json": return "m-json"
    case "paced": return `m-paced-${script.intervalMs}-${script.events}`
    case "burst": return `m-burst-${script.events}`
    case "bulk": return `m-bulk-${script.events}`
    case "embedding": return "m-embedding"
    case "sound": return `m-sound-${script.megabytes}`
  }
}

/** The script of a model name, or null when no such script exists. */
export const scriptOf = (model: string): Script | null => {
  if (model === "m-json") return { kind: "json" }
  if (model === "m-embedding") return { kind: "embedding" }
  const sound = /^m-sound-(\d+)$/.exec(model)
  if (sound !== null) return { kind: "sound", megabytes: Number(sound[1]) }
  const match = /^m-(paced|burst|bulk)-(\d+)(?:-(\d+))?$/.exec(model)
  if (match === null) return null
  const first = Number(match[2])
  if (match[1] === "paced") {
    return match[3] === undefined ? null : { kind: "paced", intervalMs: first, events: Number(match[3]) }
  }
  if (match[3] !== undefined) return null
  return match[1] === "burst" ? { kind: "burst", events: first } : { kind: "bulk", events: first }
}

/** The non-streamed answer. */
export const answer: Buffer = Buffer.from(JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "m-json",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "The quick brown fox jumps over the lazy dog." },
    finish_reason: "stop"
  }],
  usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 }
}), "latin1")

const DIMENSIONS = 16

/** One vector, by the name of the model that the client is told. */
export const embeddingAnswer = (model: string): Buffer => Buffer.from(JSON.stringify({
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: Array.from({ length: DIMENSIONS }, (_, i) => (i + 1) / 100) }],
  model,
  usage: { prompt_tokens: 9, total_tokens: 9 }
}), "latin1")

const MEGABYTE = 1_048_576

export const soundAnswer = (megabytes: number): Buffer => soundOf(megabytes * MEGABYTE)

const chunkHead = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"m"`

export const openingEvent = `${chunkHead},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n`

const eventPrefix = `${chunkHead},"choices":[{"index":0,"delta":{"content":"`
const eventSuffix = `"},"finish_reason":null}]}\n\n`

/** Content event text before its stamp, and after it. Unstamped events are prefix + suffix. */
export const contentEvent = (script: StreamScript, index: number): readonly [prefix: string, suffix: string] => {
  const number = String(index).padStart(INDEX_DIGITS, "0")
  switch (script.kind) {
    case "paced": return [`${eventPrefix}${number}@`, ` ${eventSuffix}`]
    case "burst": return [`${eventPrefix}${number} `, eventSuffix]
    case "bulk": return [`${eventPrefix}${number} ${"x".repeat(BULK_PADDING)}`, eventSuffix]
  }
}

export const closingEvents = (script: StreamScript): string =>
  `${chunkHead},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n` +
  `${chunkHead},"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":${script.events},"total_tokens":${
    script.events + 9
  }}}\n\ndata: [DONE]\n\n`

/** What a client must receive. `stampAt` is the offset of the first stamp, `period` the distance between two. */
export interface Expected {
  readonly bytes: Buffer
  readonly stamps: number
  readonly stampAt: number
  readonly period: number
  /** SSE comments between events are allowed, counted and not part of the content. */
  readonly events: boolean
}

const whole = (bytes: Buffer): Expected => ({ bytes, stamps: 0, stampAt: 0, period: 1, events: false })

export const expectedAnswer: Expected = whole(answer)

/** What a saturated client must receive; `modelPrefix`: what the target puts before a model that it names. */
export const expectedOf = (script: Exclude<Script, { readonly kind: "paced" }>, modelPrefix: string): Expected =>
  script.kind === "json" ? expectedAnswer
    : script.kind === "embedding" ? whole(embeddingAnswer(modelPrefix + modelOf(script)))
    : script.kind === "sound" ? whole(soundAnswer(script.megabytes))
    : expectedStream(script)

export const expectedStream = (script: StreamScript): Expected => {
  const [prefix, suffix] = contentEvent(script, 0)
  const stamp = script.kind === "paced" ? ZERO_STAMP : ""
  const period = prefix.length + stamp.length + suffix.length
  const closing = closingEvents(script)
  const bytes = Buffer.allocUnsafe(openingEvent.length + period * script.events + closing.length)
  let at = bytes.write(openingEvent, 0, "latin1")
  for (let index = 0; index < script.events; index++) {
    const [before, after] = contentEvent(script, index)
    at += bytes.write(`${before}${stamp}${after}`, at, "latin1")
  }
  bytes.write(closing, at, "latin1")
  return {
    bytes,
    stamps: stamp === "" ? 0 : script.events,
    stampAt: openingEvent.length + prefix.length,
    period,
    events: true
  }
}

/** How many bulk events make up about `megabytes`. */
export const bulkEvents = (megabytes: number): number => {
  const [prefix, suffix] = contentEvent({ kind: "bulk", events: 1 }, 0)
  return Math.ceil((megabytes * 1024 * 1024) / (prefix.length + suffix.length))
}

/** One HTTP chunk around a text. */
export const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`

/** Microseconds of the machine's monotonic clock: comparable between processes of one machine. */
export const clockMicros = (): number => {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + nanoseconds / 1e3
}
