/** The moderations format: `POST /v1/moderations`. A text that holds the word "violence" is flagged. */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType, missing, refuseUnknown, strictly } from "./chatRequest.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { SimulatedCall, Format } from "./Format.ts"
import { oneShotCall } from "./oneShotCall.ts"

const known: ReadonlySet<string> = new Set(["model", "input"])
const categories = ["violence", "hate"]

const textsOf = (input: unknown): ReadonlyArray<string> => {
  if (input === undefined || input === null) throw missing("input")
  if (Predicate.isString(input)) return [input]
  if (!Array.isArray(input) || input.length === 0) throw invalidType("input", "one of a string or array", input)
  if (input.every(Predicate.isString)) return input
  return [input.map((part: unknown) => {
    if (!Predicate.isObject(part)) throw invalidType("input", "an array of strings or parts", input)
    const one = part as Record<string, unknown>
    if (one["type"] === "text" && Predicate.isString(one["text"])) return one["text"]
    if (one["type"] === "image_url" && Predicate.isObject(one["image_url"])) return ""
    throw new Bad("Invalid part of 'input'.", "input", "invalid_value")
  }).join(" ")]
}

const read = strictly((body): SimulatedCall => {
  refuseUnknown(body, known, "")
  const model = Predicate.isString(body["model"]) ? body["model"] : "omni-moderation-latest"
  const texts = textsOf(body["input"])
  const result = (text: string) => {
    const scores = categories.map((name) => [name, text.includes(name) ? 0.9 : 0.001] as const)
    return {
      flagged: scores.some(([, score]) => score > 0.5), categories: Object.fromEntries(scores.map(([name, score]) => [name, score > 0.5])),
      category_scores: Object.fromEntries(scores)
    }
  }
  return oneShotCall(model, texts.reduce((sum, text) => sum + countTokens(text), 0), ({ id }) => ({
    type: "application/json", pieces: [Buffer.from(JSON.stringify({ id: `modr-${id}`, model, results: texts.map(result) }))]
  }))
})

export const moderations: Format = {
  name: "moderations", matches: (path) => path === "/v1/moderations", read, events: () => [], body: () => "", renderError: renderChatError,
  streamError: chatStreamError
}
