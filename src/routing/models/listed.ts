/** One model of the lists: what the registry and a custom row say of it. Pure. */
import type { Capability, Modality, Model, ModelKind, Provider } from "#schemas/Provider.ts"
import * as Json from "#src/wire/json/json.ts"
import type { CatalogCustomModel, CatalogNode, EntryType, ModelEntry } from "./modelCatalog.ts"
import { honoursNoThinking } from "./resolveModel.ts"

/** What is known of one model before it gets an id per prefix mode. */
export interface Listed {
  readonly owner: string
  readonly alias: string
  readonly model: string
  readonly label: string
  readonly custom: boolean
  readonly noThinking: boolean
  readonly created: number
  readonly facts: Omit<ModelEntry, "id" | "object" | "created" | "owned_by" | "permission" | "root" | "parent" | "name">
}

export const seconds = (iso: string): number => {
  const time = Date.parse(iso)
  return Number.isFinite(time) ? Math.floor(time / 1000) : 0
}

const capabilityNames: Readonly<Record<Capability, string>> = {
  tools: "tools",
  vision: "vision",
  reasoning: "reasoning",
  structuredOutput: "structured_output"
}

const endpointOf: Readonly<Record<ModelKind, string>> = {
  chat: "chat",
  embedding: "embeddings",
  rerank: "rerank",
  image: "images-generations",
  audio: "audio",
  video: "video",
  music: "music",
  moderation: "moderations",
  ocr: "ocr",
  search: "search",
  fetch: "web-fetch"
}

const audioSubtype = (output: ReadonlyArray<Modality> | undefined): "speech" | "transcription" =>
  output?.includes("audio") === true ? "speech" : "transcription"

export const listedModel = (row: Provider, model: Model): Listed => {
  const subtype = model.kind === "audio" ? audioSubtype(model.outputModalities) : undefined
  const endpoint = subtype === undefined
    ? endpointOf[model.kind]
    : subtype === "speech" ? "audio-speech" : "audio-transcriptions"
  return {
    owner: row.id,
    alias: row.alias,
    model: model.id,
    label: model.name,
    custom: false,
    noThinking: honoursNoThinking(model),
    created: seconds(row.source.date),
    facts: {
      ...(model.kind === "chat" || model.kind === "search" || model.kind === "fetch" ? {} : { type: model.kind }),
      ...(subtype === undefined ? {} : { subtype }),
      ...(model.contextWindow === undefined ? {} : { context_length: model.contextWindow }),
      ...(model.maxOutputTokens === undefined ? {} : { max_output_tokens: model.maxOutputTokens }),
      ...(model.capabilities === undefined
        ? {}
        : { capabilities: Object.fromEntries(model.capabilities.map((one) => [capabilityNames[one], true] as const)) }),
      ...(model.inputModalities === undefined ? {} : { input_modalities: model.inputModalities }),
      ...(model.outputModalities === undefined ? {} : { output_modalities: model.outputModalities }),
      supported_endpoints: [endpoint],
      ...(model.dimensions === undefined ? {} : { dimensions: model.dimensions })
    }
  }
}

const kindOfEndpoint: Readonly<Record<string, EntryType | "chat">> = {
  chat: "chat",
  "chat-completions": "chat",
  messages: "chat",
  responses: "chat",
  embeddings: "embedding",
  rerank: "rerank",
  images: "image",
  image: "image",
  "images-generations": "image",
  audio: "audio",
  "audio-speech": "audio",
  "audio-transcriptions": "audio",
  video: "video",
  music: "music",
  moderations: "moderation",
  ocr: "ocr"
}

/** What a custom row says by itself: `chat` alone is the default, which says nothing. */
const saysEndpoints = ({ supportedEndpoints }: Pick<CatalogCustomModel, "supportedEndpoints">): boolean =>
  supportedEndpoints.length > 0 && !(supportedEndpoints.length === 1 && supportedEndpoints[0] === "chat")

/**
 * Type of a custom row: explicit endpoints first, chat winning when there are several; else its model type, else its API
 * format, else the API type of its node, else the type of the registered model that it overrides; otherwise chat.
 */
const customType = (custom: CatalogCustomModel, node: CatalogNode | undefined, registered: EntryType | undefined): EntryType | "chat" => {
  if (saysEndpoints(custom)) {
    const kinds = custom.supportedEndpoints.map((endpoint) => Json.ownValue(kindOfEndpoint, endpoint)).filter((kind) => kind !== undefined)
    if (kinds.length > 0) return kinds.includes("chat") ? "chat" : kinds[0] ?? "chat"
  }
  const named = custom.modelType
  if (named === "embedding" || named === "image" || named === "rerank" || named === "chat") return named
  const byFormat = Json.ownValue(kindOfEndpoint, custom.apiFormat)
  if (byFormat !== undefined && byFormat !== "chat") return byFormat
  return Json.ownValue(kindOfEndpoint, node?.apiType ?? "") ?? registered ?? "chat"
}

/** Of an audio model: which of the two its format or its node's API serves. */
const customSubtype = (custom: CatalogCustomModel, node: CatalogNode | undefined): "speech" | "transcription" | undefined => {
  const said = [...custom.supportedEndpoints, custom.apiFormat, node?.apiType ?? ""].find((one) => one.startsWith("audio-"))
  return said === undefined ? undefined : said === "audio-speech" ? "speech" : "transcription"
}

/** The endpoints that serve a custom row, where it says nothing by itself. */
const customEndpoints = (type: EntryType | "chat", subtype: "speech" | "transcription" | undefined): ReadonlyArray<string> =>
  [subtype === undefined ? endpointOf[type] : subtype === "speech" ? "audio-speech" : "audio-transcriptions"]

export const listedCustom = (
  custom: CatalogCustomModel,
  owner: { readonly id: string; readonly alias: string; readonly node?: CatalogNode },
  registered: Listed | undefined
): Listed => {
  const type = customType(custom, owner.node, registered?.facts.type)
  const subtype = type === "audio" ? customSubtype(custom, owner.node) : undefined
  const context = custom.contextWindowOverride ?? registered?.facts.context_length
  const output = custom.maxOutputTokens ?? registered?.facts.max_output_tokens
  const { type: _, ...inherited } = registered?.facts ?? {}
  return {
    owner: owner.id,
    alias: owner.alias,
    model: custom.modelId,
    label: custom.modelName ?? registered?.label ?? custom.modelId,
    custom: registered === undefined,
    noThinking: registered?.noThinking ?? false,
    created: seconds(custom.createdAt),
    facts: {
      ...inherited,
      ...(type === "chat" ? {} : { type }),
      ...(subtype === undefined ? {} : { subtype }),
      api_format: custom.apiFormat,
      ...(context === undefined ? {} : { context_length: context }),
      ...(custom.maxInputTokens === null ? {} : { max_input_tokens: custom.maxInputTokens }),
      ...(output === undefined ? {} : { max_output_tokens: output }),
      ...(custom.supportsVision === true ? { capabilities: { ...inherited.capabilities, vision: true } } : {}),
      ...(custom.supportedInputTypes.length === 0 ? {} : { input_modalities: custom.supportedInputTypes }),
      ...(custom.supportedEndpoints.length === 0
        ? {}
        : { supported_endpoints: saysEndpoints(custom) ? custom.supportedEndpoints : inherited.supported_endpoints ?? customEndpoints(type, subtype) }),
      ...(custom.dimensions === null ? {} : { dimensions: custom.dimensions })
    }
  }
}
