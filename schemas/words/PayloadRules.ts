/** The setting `payloadRules`: what operators change in the bodies that upstreams are sent, by model. */
import * as Schema from "effect/Schema"
import { listOf, text } from "#schemas/api/fields.ts"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import * as BodyPath from "./bodyPath.ts"

/** Rules of one kind; models and paths of one rule. */
const mostRules = 100
const mostModels = 100
const mostParams = 100

/** The formats of upstreams, under their own names and under those that other gateways give them. */
export const familyOfProtocol = {
  "openai": "chat-completions", "claude": "messages", "gemini": "generateContent", "codex": "responses",
  "chat-completions": "chat-completions", "messages": "messages", "responses": "responses", "generateContent": "generateContent",
  "local-model-server": "local-model-server"
} as const satisfies Readonly<Record<string, FamilyName>>

const Protocol = Schema.Literals(["openai", "claude", "gemini", "codex", "chat-completions", "messages", "responses", "generateContent", "local-model-server"])

const Matched = Schema.Struct({
  /** Id of a model at its upstream, or `<provider>/<model>`; `*` stands for any characters. In any case. */
  name: text(1, 200),
  /** Only in bodies of this format; absent: of all. */
  protocol: Schema.optionalKey(Protocol)
}).annotate({ identifier: "PayloadRuleModel" })

const models = Schema.Array(Matched).check(Schema.isMinLength(1), Schema.isMaxLength(mostModels))

const isJson = (value: string): boolean => {
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}

/** A text is JSON, and is written as it is; any other value is itself. */
const Raw = Schema.Json.check(Schema.makeFilter((value: Schema.Json) => typeof value !== "string" || isJson(value) || "Expected JSON text"))

const Put = Schema.Struct({ models, params: BodyPath.valuesOf(Schema.Json, mostParams) }).annotate({ identifier: "PayloadRule" })
const PutRaw = Schema.Struct({ models, params: BodyPath.valuesOf(Raw, mostParams) }).annotate({ identifier: "RawPayloadRule" })

export const PayloadRules = Schema.Struct({
  /** Values that are put where nothing stands. */
  default: listOf(Put, mostRules),
  /** Values that are put in any case. */
  override: listOf(Put, mostRules),
  /** Paths whose values go. */
  filter: listOf(Schema.Struct({ models, params: listOf(BodyPath.Removed, mostParams) }), mostRules),
  /** As `default`; texts are JSON. */
  defaultRaw: listOf(PutRaw, mostRules)
})
export interface PayloadRules extends Schema.Schema.Type<typeof PayloadRules> {}

/** Under this name among the settings. */
export const settingKey = "payloadRules"

const payloadRulesDefaults: PayloadRules = { default: [], override: [], filter: [], defaultRaw: [] }

const isRules = Schema.is(PayloadRules)

/** The effective settings; defaults for what is no longer allowed. */
export const payloadRulesOf = (settings: ReadonlyMap<string, unknown>): PayloadRules => {
  const stored = settings.get(settingKey)
  const whole: unknown = typeof stored === "object" && stored !== null ? { ...payloadRulesDefaults, ...stored } : payloadRulesDefaults
  return isRules(whole) ? whole : payloadRulesDefaults
}
