import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Surface from "#src/management/Surface.ts"
import { applied, each, type Edits, Value } from "#src/wire/json/edits.ts"
import { type GuardrailResult, GuardrailsGroup } from "./api.ts"
import { Guardrails } from "./Guardrails.ts"
import * as OptOut from "./OptOut.ts"
import { Reading, refusing, type Report } from "./Reading.ts"
import * as Refusals from "./refusals.ts"
import * as Rules from "./rules.ts"

/** Every text of it, however deep. */
const texts = (value: unknown, read: (text: string) => string): Edits | null => {
  if (typeof value !== "string") return each(value, (child) => texts(child, read))
  const left = read(value)
  return left === value ? null : new Value(left)
}

const resultOf = ({ detections, error, found, mode, modified, name }: Report): GuardrailResult => ({
  guardrail: name, blocked: detections > 0 || (error !== null && mode !== "warn"), modified, skipped: mode === "off",
  ...(error === null ? {} : { error }),
  ...(mode === "off" ? {} : { meta: { mode, found } })
})

/** A trial asks no model. */
const unasked: GuardrailResult = { guardrail: Rules.visionBridge.name, blocked: false, modified: false, skipped: true }

export const layer = HttpApiBuilder.group(Surface.make(GuardrailsGroup), "guardrails", Effect.fn(function*(handlers) {
  const { bridge, rules } = yield* Guardrails

  const list = Effect.sync(() => {
    const { answers, requests } = rules()
    return { guardrails: [{ ...Rules.visionBridge, enabled: bridge() !== null }, ...Rules.guardrails.map(({ name, priority }) => ({ name, enabled: requests[name] !== "off" || answers[name] !== "off", priority }))] }
  })

  const test = (input: Schema.Json, disabled: ReadonlyArray<string>) => Effect.sync(() => {
    const { requests, threshold } = Rules.without(rules(), OptOut.namesIn(disabled))
    const reading = new Reading(requests, threshold)
    const edits = texts(input, (text) => reading.read(text))
    const refused = refusing(reading.reports)
    return {
      blocked: refused !== null,
      guardrail: refused === null ? null : refused.name,
      message: refused === null ? null : Refusals.of(refused, "request").message,
      results: [unasked, ...reading.reports.map(resultOf)],
      payload: edits === null ? input : applied(input, edits) as Schema.Json
    }
  })

  return handlers.handleAll({ list: () => list, test: ({ payload: { disabledGuardrails, input } }) => test(input, disabledGuardrails ?? []) })
}))
