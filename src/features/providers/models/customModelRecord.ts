/** A custom model between its record and its JSON form. Pure. */
import type * as Schema from "effect/Schema"
import type { ModelInput, ModelView } from "./api.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { CompatByProtocol } from "#schemas/words/ModelFormats.ts"
import { compatByProtocolOf, protocolNames } from "#src/providers/modelFormats.ts"
import { keepRedacted, redactHeaders } from "#src/management/redact.ts"

type Headers = Readonly<Record<string, string>>

const extras = ["normalizeToolCallId", "preserveOpenAIDeveloperRole", "compatByProtocol", "generationConfig"] as const

export const emptyModel = (provider: string, modelId: string, now: string): CustomModel => ({
  provider,
  modelId,
  modelName: null,
  source: "manual",
  apiFormat: "chat-completions",
  supportedEndpoints: ["chat"],
  targetFormat: null,
  modelType: null,
  maxInputTokens: null,
  maxOutputTokens: null,
  contextWindowOverride: null,
  dimensions: null,
  supportsVision: null,
  isFree: null,
  isHidden: false,
  supportedInputTypes: [],
  upstreamHeaders: {},
  extra: {},
  createdAt: now,
  updatedAt: now
})

/** The headers of an input, by their field. */
export const headersIn = ({ compatByProtocol, upstreamHeaders }: ModelInput): ReadonlyArray<readonly [field: string, headers: Headers]> => [
  ["upstreamHeaders", upstreamHeaders ?? {}],
  ...Object.entries(compatByProtocol ?? {}).map(([name, said]) => [`compatByProtocol.${name}.upstreamHeaders`, said?.upstreamHeaders ?? {}] as const)
]

/** With other headers. */
const withHeaders = (compat: CompatByProtocol, change: (headers: Headers, protocol: keyof CompatByProtocol) => Headers): CompatByProtocol =>
  Object.fromEntries(protocolNames.flatMap((protocol) => {
    const said = compat[protocol]
    if (said === undefined) return []
    return [[protocol, said.upstreamHeaders === undefined ? said : { ...said, upstreamHeaders: change(said.upstreamHeaders, protocol) }]]
  }))

/** `provider`: its name. */
export const view = (model: CustomModel, provider: string): ModelView => {
  const { extra, maxInputTokens, maxOutputTokens, upstreamHeaders, ...rest } = model
  return {
    ...rest,
    provider,
    max_input_tokens: maxInputTokens,
    max_output_tokens: maxOutputTokens,
    upstreamHeaders: redactHeaders(upstreamHeaders),
    ...Object.fromEntries(extras.filter((name) => extra[name] !== undefined).map((name) => [name, extra[name] as Schema.Json])),
    ...extra["compatByProtocol"] === undefined ? {} : { compatByProtocol: withHeaders(compatByProtocolOf(extra), redactHeaders) as Schema.Json }
  }
}

const compact = <A extends object>(value: A): Partial<A> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<A>

export const apply = (current: CustomModel, input: ModelInput, now: string): CustomModel => {
  const {
    compatByProtocol, generationConfig, max_input_tokens, max_output_tokens, normalizeToolCallId, preserveOpenAIDeveloperRole,
    upstreamHeaders, ...rest
  } = input
  const stored = compatByProtocolOf(current.extra)
  const kept = compatByProtocol === undefined
    ? undefined
    : withHeaders(compatByProtocol, (headers, protocol) => keepRedacted(headers, stored[protocol]?.upstreamHeaders ?? {}))
  return {
    ...current,
    ...compact(rest),
    ...compact({ maxInputTokens: max_input_tokens, maxOutputTokens: max_output_tokens }),
    upstreamHeaders: upstreamHeaders === undefined ? current.upstreamHeaders : keepRedacted(upstreamHeaders, current.upstreamHeaders),
    extra: { ...current.extra, ...compact({ compatByProtocol: kept, generationConfig, normalizeToolCallId, preserveOpenAIDeveloperRole }) } as CustomModel["extra"],
    updatedAt: now
  }
}
