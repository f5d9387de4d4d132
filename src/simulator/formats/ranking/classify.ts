/** Sorting of texts under labels: `POST /v1/classify`. A label's score is the share of its letters that a text holds. */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType, missing, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { Format, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"

const FIELDS = new Set(["model", "input", "labels"])

const scoreOf = (text: string, label: string): number => {
  const letters = new Set(label.toLowerCase())
  return [...letters].filter((letter) => text.toLowerCase().includes(letter)).length / letters.size
}

const textsAt = (body: Readonly<Record<string, unknown>>, name: string): ReadonlyArray<string> => {
  const value = body[name]
  if (value === undefined) throw missing(name)
  if (!Array.isArray(value) || value.length === 0 || !value.every(Predicate.isString)) throw invalidType(name, "an array of strings", value)
  return value
}

const read = strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  const unknown = Object.keys(body).find((field) => !FIELDS.has(field))
  if (unknown !== undefined) throw new Bad(`Unknown parameter: '${unknown}'.`, unknown, "unknown_parameter")
  const [input, labels] = [textsAt(body, "input"), textsAt(body, "labels")]
  const tokens = [...input, ...labels].reduce((sum, text) => sum + countTokens(text), 0)
  // The last text first, and the labels in their own order: the gateway has to sort both.
  const data = input.map((text, index) => {
    const predictions = labels.map((label) => ({ label, score: scoreOf(text, label) }))
    const [best] = [...predictions].sort((a, b) => b.score - a.score)
    return { object: "classification", index, prediction: best?.label, score: best?.score, predictions }
  }).reverse()
  return oneShotCall(model, tokens, ({ usage }) => ({
    type: "application/json", pieces: [Buffer.from(JSON.stringify({ data, ...(usage === null ? {} : { usage: { total_tokens: usage.promptTokens } }) }))]
  }))
})

export const classify: Format = {
  name: "classify", matches: (path) => path === "/v1/classify", read, events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError
}
