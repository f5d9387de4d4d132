/**
 * A plan: one reply laid out before the first byte of it is sent. Pure: from script, call and format to head, frames and faults.
 */
import { gzipSync } from "node:zlib"
import { completionTokens, compose } from "./answers.ts"
import type { SimulatedCall, Format, SimulatedRefusal, Reply, SimulatedUsage } from "./formats/Format.ts"
import { type SimulatedFrame, type Frames, framesOf, htmlPage, keepaliveBytes } from "./framing.ts"
import type { Point, Script, Split } from "./Script.ts"

/** What a fault does at its point. */
export type Stop = { readonly how: "reset" | "close" | "end" | "hang"; readonly at: Point }

export interface AnswerPlan {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly frames: Frames
  /** Whole length of the body when it is sent with content-length. */
  readonly length: number | null
  readonly transfer: "chunked" | "close"
  readonly latencyMs: number
  readonly ttftMs: number
  /** 0: as fast as the client reads. */
  readonly paceMs: number
  /** Frames joined into one write, or null: each on its own. */
  readonly burst: number | null
  readonly split: Split
  readonly stop: Stop | null
  /** Between the last byte and a reset, so that the client reads the bytes first. */
  readonly resetDelayMs: number
  readonly keepaliveMs: number | null
  readonly keepalive: Buffer
  readonly gzip: boolean
  readonly promptTokens: number
  readonly tokens: number
  readonly usage: SimulatedUsage | null
}

const DEFAULT_RESET_DELAY_MS = 10

const stopOf = (script: Script): Stop | null => {
  if (script.neverHead === true) return { how: "hang", at: "request" }
  if (script.resetAfter !== undefined) return { how: "reset", at: script.resetAfter }
  if (script.closeAfter !== undefined) return { how: "close", at: script.closeAfter }
  if (script.endAfter !== undefined) return { how: "end", at: script.endAfter }
  if (script.hangAfter !== undefined) return { how: "hang", at: script.hangAfter }
  return null
}

const headersOf = (script: Script, contentType: string, id: string): Record<string, string> => ({
  "content-type": script.contentType ?? contentType,
  "x-request-id": `req_${id}`,
  ...(script.gzip === true ? { "content-encoding": "gzip" } : {}),
  ...(script.retryAfter === undefined ? {} : { "retry-after": String(script.retryAfter) }),
  ...Object.fromEntries(Object.entries(script.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
})

const common = (script: Script) => ({
  transfer: script.transfer ?? "chunked",
  split: script.split ?? "frame",
  stop: stopOf(script),
  resetDelayMs: script.resetDelayMs ?? DEFAULT_RESET_DELAY_MS,
  keepaliveMs: script.keepaliveMs ?? null,
  keepalive: keepaliveBytes(script)
} as const)

/** One body with its content-length. */
export const whole = (script: Script, status: number, contentType: string, text: string | Buffer, id: string, extra: Partial<AnswerPlan> = {}): AnswerPlan => {
  const plain = typeof text === "string" ? Buffer.from(text) : text
  const bytes = script.gzip === true ? gzipSync(plain) : plain
  const only: SimulatedFrame = { bytes, tokens: extra.tokens ?? 0, usage: extra.usage !== undefined && extra.usage !== null }
  return {
    ...common(script),
    status,
    headers: headersOf(script, contentType, id),
    frames: [only].values(),
    length: script.transfer === "close" ? null : bytes.length,
    latencyMs: script.latencyMs ?? 0,
    ttftMs: 0,
    paceMs: 0,
    burst: null,
    keepaliveMs: null,
    gzip: false,
    promptTokens: 0,
    tokens: 0,
    usage: null,
    ...extra
  }
}

const JSON_TYPE = "application/json"

export const refusal = (format: Pick<Format, "renderError">, script: Script, refused: SimulatedRefusal, id: string): AnswerPlan =>
  whole(script, refused.status, JSON_TYPE, format.renderError(refused), id)

/** The reply of a script that names status, body or page itself; null when it leaves the answer to the format. */
export const fixed = (format: Pick<Format, "renderError">, script: Script, id: string): AnswerPlan | null => {
  if (script.html === true) return whole(script, script.status ?? 200, "text/html; charset=utf-8", htmlPage, id)
  if (script.body !== undefined) {
    const text = typeof script.body === "string"
    return whole(script, script.status ?? 200, text ? "text/plain; charset=utf-8" : JSON_TYPE, text ? script.body : JSON.stringify(script.body), id)
  }
  const status = script.status ?? (script.error === undefined ? 200 : 500)
  if (status < 300) return null
  return refusal(format, script, { ...script.error, status, message: script.error?.message ?? "" }, id)
}

/** The answer of a call that is no conversation. Its pieces come at the script's pace. */
const replied = ({ headers, pieces, status, type }: Reply, script: Script, id: string, counts: Pick<AnswerPlan, "promptTokens" | "tokens" | "usage">): AnswerPlan => {
  const latencyMs = (script.latencyMs ?? 0) + (script.ttftMs ?? 0)
  const plan = whole(script, script.status ?? status ?? 200, type, Buffer.concat(pieces), id, { ...counts, latencyMs })
  const own = { ...plan, headers: { ...plan.headers, ...headers } }
  if (pieces.length < 2 || script.gzip === true) return own
  return { ...own, frames: pieces.map((bytes, i): SimulatedFrame => ({ bytes, tokens: 0, usage: i === pieces.length - 1 && counts.usage !== null })).values(), length: null, paceMs: script.paceMs ?? 0 }
}

export const answered = (format: Format, call: SimulatedCall, script: Script, id: string, nowMs: number): AnswerPlan => {
  const answer = compose(call, script, id, nowMs)
  const tokens = completionTokens(answer.choices)
  const counts = { promptTokens: call.promptTokens, tokens, usage: answer.usage }
  const paceMs = script.burst === "all" ? 0 : script.paceMs ?? 0
  if (call.reply !== undefined) return replied(call.reply(answer), script, id, counts)
  if (!call.stream) {
    // A whole answer comes when its last token would have come.
    const latencyMs = (script.latencyMs ?? 0) + (script.ttftMs ?? 0) + paceMs * Math.max(0, tokens - 1)
    return whole(script, script.status ?? 200, JSON_TYPE, format.body(call, answer), id, { ...counts, latencyMs })
  }
  return {
    ...common(script),
    ...counts,
    status: script.status ?? 200,
    headers: { "cache-control": "no-cache", ...headersOf(script, call.streamType ?? "text/event-stream; charset=utf-8", id) },
    frames: framesOf(format.events(call, answer), script, format.streamError, call.streamType === undefined),
    length: null,
    latencyMs: script.latencyMs ?? 0,
    ttftMs: script.ttftMs ?? 0,
    paceMs,
    burst: typeof script.burst === "number" ? script.burst : null,
    // A comment is only understood in server-sent events.
    ...(call.streamType === undefined ? {} : { keepaliveMs: null }),
    gzip: script.gzip === true
  }
}
