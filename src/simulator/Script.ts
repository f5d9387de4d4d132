/**
 * A script: everything one simulated request can do, as data.
 *
 * A model id is a script with a name; rules, the `x-sim-script` header and the defaults of a simulator are scripts that are
 * laid over it, field by field. All times are milliseconds. docs/simulator.md lists every field.
 */
import * as Schema from "effect/Schema"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Positive = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))
const Millis = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** Where a fault strikes: before the head, right after it, or after so many frames or body bytes. */
export const Point = Schema.Union([
  Schema.Literals(["request", "head"]),
  Schema.Struct({ frames: Count }),
  Schema.Struct({ bytes: Count })
])
export type Point = typeof Point.Type

/** A broken frame; it stands before the frame with index `at` (0 is the first), or replaces it. */
export const Malformed = Schema.Struct({
  kind: Schema.Literals(["bad-json", "bare-cr", "wrong-field", "error", "huge", "bad-chunk", "raw"]),
  at: Count,
  replace: Schema.optionalKey(Schema.Boolean),
  /** kind huge: size in bytes of the padding; default 1 MiB. */
  bytes: Schema.optionalKey(Positive),
  /** kind raw: the bytes themselves; kind error: the JSON of the error object. */
  raw: Schema.optionalKey(Schema.String),
  /** kind error: end the stream there, as vendors do; default true. */
  end: Schema.optionalKey(Schema.Boolean)
})
export type Malformed = typeof Malformed.Type

/** How the body bytes are cut into writes. */
export const Split = Schema.Union([
  Schema.Literals(["frame", "byte"]),
  Schema.Struct({ every: Positive, turns: Schema.optionalKey(Schema.Boolean) }),
  Schema.Struct({ random: Schema.Int, max: Schema.optionalKey(Positive), turns: Schema.optionalKey(Schema.Boolean) })
])
export type Split = typeof Split.Type

export const ToolCall = Schema.Struct({
  name: Schema.String,
  arguments: Schema.optionalKey(Schema.Json),
  id: Schema.optionalKey(Schema.String)
})

export const UsageOverride = Schema.Struct({
  promptTokens: Schema.optionalKey(Count),
  completionTokens: Schema.optionalKey(Count),
  totalTokens: Schema.optionalKey(Count),
  cachedTokens: Schema.optionalKey(Count),
  cacheWriteTokens: Schema.optionalKey(Count),
  reasoningTokens: Schema.optionalKey(Count)
})
export type UsageOverride = typeof UsageOverride.Type

export const Script = Schema.Struct({
  // The reply as a whole
  status: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 200, maximum: 599 }))),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.optionalKey(Schema.Json),
  error: Schema.optionalKey(Schema.Struct({
    message: Schema.optionalKey(Schema.String),
    type: Schema.optionalKey(Schema.String),
    code: Schema.optionalKey(Schema.NullOr(Schema.String)),
    param: Schema.optionalKey(Schema.NullOr(Schema.String))
  })),
  retryAfter: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.String])),
  requireKey: Schema.optionalKey(Schema.String),

  // Time
  latencyMs: Schema.optionalKey(Millis),
  ttftMs: Schema.optionalKey(Millis),
  paceMs: Schema.optionalKey(Millis),
  burst: Schema.optionalKey(Schema.Union([Schema.Literal("all"), Positive])),
  keepaliveMs: Schema.optionalKey(Millis.check(Schema.isGreaterThan(0))),

  // The answer
  answer: Schema.optionalKey(Schema.Literals(["echo", "tokens", "tools", "reason"])),
  text: Schema.optionalKey(Schema.String),
  tokens: Schema.optionalKey(Count),
  tokenSize: Schema.optionalKey(Positive),
  reasoning: Schema.optionalKey(Schema.Union([Count, Schema.String])),
  toolCalls: Schema.optionalKey(Schema.Array(ToolCall)),
  finishReason: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Schema.Union([Schema.Literal("omit"), UsageOverride])),
  usageOn: Schema.optionalKey(Schema.Literals(["vendor", "finish", "every"])),

  // Faults
  neverHead: Schema.optionalKey(Schema.Boolean),
  resetAfter: Schema.optionalKey(Point),
  resetDelayMs: Schema.optionalKey(Millis),
  closeAfter: Schema.optionalKey(Point),
  endAfter: Schema.optionalKey(Point),
  hangAfter: Schema.optionalKey(Point),
  malformed: Schema.optionalKey(Schema.Array(Malformed)),
  omitDone: Schema.optionalKey(Schema.Boolean),

  // The wire
  split: Schema.optionalKey(Split),
  lineEnding: Schema.optionalKey(Schema.Literals(["LF", "CRLF", "CR"])),
  comments: Schema.optionalKey(Schema.Union([Schema.Boolean, Schema.String])),
  bom: Schema.optionalKey(Schema.Boolean),
  dataSpace: Schema.optionalKey(Schema.Boolean),
  multiLine: Schema.optionalKey(Schema.Boolean),
  extraFields: Schema.optionalKey(Schema.Boolean),
  finalNewline: Schema.optionalKey(Schema.Boolean),
  contentType: Schema.optionalKey(Schema.String),
  html: Schema.optionalKey(Schema.Boolean),
  gzip: Schema.optionalKey(Schema.Boolean),
  transfer: Schema.optionalKey(Schema.Literals(["chunked", "close"]))
})
export type Script = typeof Script.Type

/** Conditions are joined by "and"; an absent one matches everything. `*` in model and path stands for any text. */
export const Match = Schema.Struct({
  model: Schema.optionalKey(Schema.String),
  path: Schema.optionalKey(Schema.String),
  key: Schema.optionalKey(Schema.String),
  stream: Schema.optionalKey(Schema.Boolean),
  header: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Only the nth request (1 is the first) among those that satisfy the other conditions. */
  nth: Schema.optionalKey(Positive),
  /** Only this part of them, spread evenly: 0.5 is each second one. */
  share: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1)))
})
export type Match = typeof Match.Type

export const Rule = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  match: Schema.optionalKey(Match),
  /** How often the rule may be used; without it, always. */
  times: Schema.optionalKey(Positive),
  script: Script
})
export type Rule = typeof Rule.Type

/** A misspelt field is an error, never ignored: a fault that silently does not happen makes a test lie. */
const strict = { onExcessProperty: "error" } as const

export const decodeScript = Schema.decodeUnknownResult(Script, strict)
export const decodeRules = Schema.decodeUnknownResult(Schema.Array(Rule), strict)

/** Fields that answer the same question: naming one in an overlay drops the others below it. */
const EXCLUSIVE: ReadonlyArray<ReadonlyArray<keyof Script>> = [
  ["text", "tokens", "answer"],
  ["neverHead", "resetAfter", "closeAfter", "endAfter", "hangAfter"],
  ["paceMs", "burst"],
  ["status", "body", "error", "html"]
]

/** Lays `over` on `base`: its fields win, and displace their alternatives. */
export const merge = (base: Script, over: Script | undefined): Script => {
  if (over === undefined) return base
  let rest: Script = base
  for (const group of EXCLUSIVE) {
    if (group.some((field) => over[field] !== undefined)) {
      rest = Object.fromEntries(Object.entries(rest).filter(([field]) => !group.some((one) => one === field)))
    }
  }
  return { ...rest, ...over }
}
