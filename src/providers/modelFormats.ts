/** What an operator says on a custom model of how it is spoken to, for each client's format. Pure. */
import * as Schema from "effect/Schema"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { CompatByProtocol, GenerationConfig, type ModelCompat, ReasoningControl, TargetFormat } from "#schemas/words/ModelFormats.ts"

type Protocol = keyof CompatByProtocol
export const protocolNames: ReadonlyArray<Protocol> = ["openai", "openai-responses", "claude"]

interface General extends Omit<ModelCompat, "reasoningControl"> {}

/** What an operator says of one model. */
export interface ModelFormats {
  /** The format that the model is called in; null = its provider's. */
  readonly family: FamilyName | null
  readonly general: General
  readonly byProtocol: CompatByProtocol
}

const families = { "openai": "chat-completions", "openai-responses": "responses", "claude": "messages", "gemini": "generateContent" } as const

const isTarget = Schema.is(TargetFormat)
const isByProtocol = Schema.is(CompatByProtocol)
const isConfig = Schema.is(GenerationConfig)

export const compatByProtocolOf = ({ compatByProtocol }: CustomModel["extra"]): CompatByProtocol => isByProtocol(compatByProtocol) ? compatByProtocol : {}

const keys = ["normalizeToolCallId", "preserveOpenAIDeveloperRole", "compatByProtocol", "generationConfig"] as const

/** Null when the model is spoken to as its provider is. */
export const of = ({ extra, targetFormat }: Pick<CustomModel, "extra" | "targetFormat">): ModelFormats | null => {
  // Most models are read from lists, and nothing was said of them.
  if (targetFormat === null && !keys.some((key) => Object.hasOwn(extra, key))) return null
  const { generationConfig, normalizeToolCallId: nine, preserveOpenAIDeveloperRole: developer } = extra
  const byProtocol = compatByProtocolOf(extra)
  const preset = isConfig(generationConfig) ? generationConfig.preset ?? null : null
  const family = isTarget(targetFormat) ? families[targetFormat] : null
  const general = {
    callsOfNine: nine === true, developerRole: typeof developer === "boolean" ? developer : null,
    preset: preset === null || Object.keys(preset).length === 0 ? null : preset
  }
  return family === null && isPlain(general) && Object.keys(byProtocol).length === 0 ? null : { family, general, byProtocol }
}

const isPlain = ({ callsOfNine, developerRole, preset }: General): boolean => !callsOfNine && developerRole === null && preset === null

const protocols: Partial<Record<FormatName, Protocol>> = {
  "chat-completions": "openai", "completions": "openai", "responses": "openai-responses", "messages": "claude"
}

const said = (formats: ModelFormats, face: FormatName): CompatByProtocol[Protocol] => {
  const protocol = protocols[face]
  return protocol === undefined ? undefined : formats.byProtocol[protocol]
}

const isControl = Schema.is(ReasoningControl)

/** For clients of one format; `reasoningControl`: as the connection says it. Null when nothing is to be done. */
export const compatOf = (formats: ModelFormats | null, face: FormatName, reasoningControl: unknown): ModelCompat | null => {
  // Nearly every connection says nothing, and each request asks.
  const control = reasoningControl !== undefined && isControl(reasoningControl) ? reasoningControl : null
  if (formats === null) return control === null ? null : { callsOfNine: false, developerRole: null, preset: null, reasoningControl: control }
  const own = said(formats, face)
  const { general } = formats
  const compat = {
    callsOfNine: own?.normalizeToolCallId ?? general.callsOfNine,
    developerRole: own?.preserveOpenAIDeveloperRole ?? general.developerRole,
    preset: general.preset
  }
  return isPlain(compat) && control === null ? null : { ...compat, reasoningControl: control }
}

/** Headers for clients of one format, beside the model's own. */
export const headersOf = (formats: ModelFormats | null, face: FormatName): Readonly<Record<string, string>> =>
  formats === null ? {} : said(formats, face)?.upstreamHeaders ?? {}

/** All that its calls may be sent with, for any client. */
export const allHeadersOf = ({ extra, upstreamHeaders }: Pick<CustomModel, "extra" | "upstreamHeaders">): ReadonlyArray<Readonly<Record<string, string>>> =>
  [upstreamHeaders, ...protocolNames.map((name) => compatByProtocolOf(extra)[name]?.upstreamHeaders ?? {})]
