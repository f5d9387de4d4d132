/** Texts that are sorted under labels: the clients' format, and the answer of the vendor that has such models. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

export interface Note {
  /** How many texts were asked about. */
  readonly count: number
}

/** `labels` take two: under one alone everything belongs. */
const leastLabels = 2

const textsRefusal = (body: Body, name: string, least: number): PublicError | null => {
  const value = body[name]
  const of = least === 1 ? "a non-empty list of texts" : `a list of at least ${least} texts`
  if (!Array.isArray(value) || value.length < least) return invalid(name, `Field '${name}' must be ${of}.`)
  const wrong = value.findIndex((one) => typeof one !== "string" || one === "")
  return wrong < 0 ? null : invalid(`${name}[${wrong}]`, `Field '${name}[${wrong}]' must be a text.`)
}

const head = (body: Body): RequestHead | PublicError =>
  OneShotJson.modelRefusal(body["model"], "jina/jina-embeddings-v3") ?? textsRefusal(body, "input", 1) ?? textsRefusal(body, "labels", leastLabels) ??
  { model: body["model"] as string, stream: false, wantsUsage: false }

interface Prediction {
  readonly label: string
  readonly score: number
}

const predictionIn = (one: unknown): ReadonlyArray<Prediction> =>
  Json.isRecord(one) && typeof one["label"] === "string" && typeof one["score"] === "number" ? [{ label: one["label"], score: one["score"] }] : []

/** One text's result, the best label first; null where the server said none. */
const resultIn = (one: unknown, count: number) => {
  if (!Json.isRecord(one)) return null
  const { index, predictions, score } = one
  const best = one["prediction"] ?? one["label"]
  if (!Number.isSafeInteger(index) || (index as number) < 0 || (index as number) >= count || typeof best !== "string" || typeof score !== "number") return null
  const all = Array.isArray(predictions) ? predictions.flatMap(predictionIn) : [{ label: best, score }]
  return { index: index as number, label: best, score, predictions: all.sort((a, b) => b.score - a.score) }
}

const read = (bytes: Uint8Array, { model, note: { count } }: Wanted<RequestHead, Note>): AnswerFacts | null => {
  const answer = OneShotJson.recordOf(bytes)
  const data = answer?.["data"]
  if (answer === null || !Array.isArray(data)) return OneShotJson.errorOr(bytes, answer)
  const results = data.flatMap((one: unknown) => resultIn(one, count) ?? [])
  // A text without a label would leave a gap that no client sees.
  if (results.length !== count || new Set(results.map(({ index }) => index)).size !== count) return null
  const usage = OneShotJson.usageIn(answer)
  const body = { model, data: results.sort((a, b) => a.index - b.index), ...(usage === null ? {} : { usage: answer["usage"] }) }
  return OneShotJson.answered(Buffer.from(JSON.stringify(body)), { usage, units: null })
}

export const codec: OneShotCodec<RequestHead, Note> = {
  head,
  encode: (_family, { bytes, model, parsed }) => ({
    body: OneShotJson.named(bytes, parsed, model), omitted: OneShotJson.nothing, note: { count: Array.isArray(parsed["input"]) ? parsed["input"].length : 0 }
  }),
  read: (_family, bytes, wanted) => read(bytes, wanted),
  readError: (_family, body) => OneShotJson.readError(body)
}
