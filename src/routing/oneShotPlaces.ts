/**
 * Where a model's provider serves a request without a conversation, and why it does not: one row per kind. Pure.
 *
 * A registry row serves a kind when its `paths` name the endpoint, a node when its `apiType` says so.
 */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { EndpointName, ModelKind } from "#schemas/Provider.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { NodeApiType, ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { OneShotFamily, OneShotKind } from "#schemas/wire/formats.ts"
import type { ResolvedModel } from "#src/routing/models/resolveModel.ts"

export interface Place {
  readonly family: OneShotFamily
  readonly path: string
}

export type RemoteFlag = "RERANK_REMOTE_PROVIDER_NODES" | "AUDIO_REMOTE_PROVIDER_NODES"

interface Rule {
  /** Its name in a provider's `paths`. */
  readonly endpoint: EndpointName
  /** The same for models that read more than text, where the provider has a path of its own for them. */
  readonly multimodalEndpoint?: EndpointName
  /** Models that can. */
  readonly models: ReadonlyArray<ModelKind>
  /** Nodes for it alone. */
  readonly apiType: NodeApiType | null
  /** General servers may serve it, too: they know best what their models can. */
  readonly general: boolean
  /** Below a node's base URL. */
  readonly nodePath: string
  /** The same where the base URL has no version at its end. */
  readonly unversionedPath?: string
  /** The flag without which only nodes on this machine and in its container networks serve it. */
  readonly remoteFlag?: RemoteFlag
  /** What the messages call it: `Unknown <noun> provider`. */
  readonly noun: string
  /** Format of a provider's servers, by the path that names it; absent: the clients' own. */
  readonly familyOf?: (path: string, provider: string, isMultimodal: boolean) => OneShotFamily
  /** What is said of a model that cannot. */
  readonly cannot: string
}

/** The method that ends the path names the family, where it is not the format that nearly all providers share. */
const embeddingFamilyOf = (path: string, provider: string, isMultimodal: boolean): OneShotFamily => {
  if (path.endsWith(":batchEmbedContents")) return "batchEmbedContents"
  if (path.endsWith(":predict")) return isMultimodal ? "embeddings/predict" : "predict"
  if (path.endsWith("/multimodalembeddings")) return "embeddings/voyage"
  if (path.endsWith("/v2/embed")) return "embeddings/cohere"
  return provider === "jina" ? "embeddings/jina" : "embeddings"
}

export const rules: Readonly<Record<OneShotKind, Rule>> = {
  embeddings: {
    endpoint: "embeddings", multimodalEndpoint: "multimodal-embeddings", models: ["embedding"], apiType: "embeddings", general: true, nodePath: "/embeddings", noun: "embedding", familyOf: embeddingFamilyOf,
    cannot: "makes no embeddings: see GET /v1/embeddings for those that do."
  },
  images: {
    endpoint: "images-generations", multimodalEndpoint: "images-content", models: ["image"], apiType: "images-generations", general: true, nodePath: "/images/generations", noun: "image",
    familyOf: (path) => path.endsWith(":predict") ? "images/predict" : path.endsWith(":generateContent") ? "images/content" : "images",
    cannot: "makes no images: see GET /v1/images/generations for those that do."
  },
  "image-edits": {
    endpoint: "images-edits", multimodalEndpoint: "images-content", models: ["image"], apiType: "images-generations", general: true, nodePath: "/images/edits", noun: "image edit",
    familyOf: (path) => path.endsWith(":generateContent") ? "image-edits/content" : "image-edits",
    cannot: "edits no images: see GET /v1/images/generations for those that may."
  },
  videos: {
    endpoint: "videos-generations", models: ["video"], apiType: null, general: true, nodePath: "/videos/generations", noun: "video",
    familyOf: (path, provider) => path.endsWith(":predictLongRunning") ? "videos/predict" : provider === "openrouter" ? "videos/openrouter" : provider === "xai" ? "videos/xai" : provider === "zai" || provider === "zhipu" ? "videos/zai" : "videos",
    cannot: "makes no videos: see GET /v1/videos/generations for those that do."
  },
  music: {
    endpoint: "music-generations", models: ["music"], apiType: null, general: true, nodePath: "/music/generations", noun: "music",
    familyOf: (path) => path.endsWith(":predict") ? "music/predict" : path.endsWith("/music_generation") ? "music/minimax" : path.endsWith("/music") ? "music/elevenlabs" : "music",
    cannot: "makes no music: see GET /v1/music/generations for those that do."
  },
  speech: {
    endpoint: "audio-speech", models: ["audio"], apiType: "audio-speech", general: true, nodePath: "/audio/speech", noun: "speech", remoteFlag: "AUDIO_REMOTE_PROVIDER_NODES", cannot: "makes no speech: see GET /v1/audio/speech for those that do.",
    familyOf: (path) => path.endsWith("/text-to-speech") ? "speech/elevenlabs" : path.endsWith("/speak") ? "speech/deepgram" : "speech"
  },
  transcriptions: {
    endpoint: "audio-transcriptions", models: ["audio"], apiType: "audio-transcriptions", general: true, nodePath: "/audio/transcriptions", noun: "transcription",
    remoteFlag: "AUDIO_REMOTE_PROVIDER_NODES",
    familyOf: (path) => path.endsWith("/speech-to-text") ? "transcriptions/elevenlabs" : path.endsWith("/listen") ? "transcriptions/deepgram" : path.endsWith("/transcript") ? "transcriptions/assemblyai" : "transcriptions",
    cannot: "transcribes no audio: see GET /v1/audio/transcriptions for those that do."
  },
  translations: {
    endpoint: "audio-translations", models: ["audio"], apiType: "audio-transcriptions", general: true, nodePath: "/audio/translations", noun: "translation",
    remoteFlag: "AUDIO_REMOTE_PROVIDER_NODES",
    cannot: "translates no audio."
  },
  rerank: {
    endpoint: "rerank", models: ["rerank"], apiType: "rerank", general: true, nodePath: "/rerank", unversionedPath: "/v1/rerank", noun: "rerank", remoteFlag: "RERANK_REMOTE_PROVIDER_NODES",
    familyOf: (_path, provider) => provider === "voyage" ? "rerank/voyage" : "rerank/plain", cannot: "ranks no documents: see GET /v1/rerank for those that do."
  },
  classify: { endpoint: "classify", models: ["embedding"], apiType: null, general: false, nodePath: "/classify", noun: "classification", cannot: "classifies nothing." },
  segment: { endpoint: "segment", models: [], apiType: null, general: false, nodePath: "/segment", noun: "segmentation", cannot: "segments no text." },
  moderations: {
    endpoint: "moderations", models: ["moderation"], apiType: null, general: true, nodePath: "/moderations", noun: "moderation", cannot: "moderates nothing: see GET /v1/moderations for those that do."
  },
  ocr: { endpoint: "ocr", models: ["ocr"], apiType: null, general: false, nodePath: "/ocr", noun: "OCR", familyOf: (path) => path.includes(":analyze") ? "ocr/analyze" : path.endsWith("/chat/completions") ? "ocr/chat" : "ocr", cannot: "reads no documents: see GET /v1/ocr for those that do." },
  search: { endpoint: "search", models: ["search"], apiType: null, general: false, nodePath: "/search", noun: "search", familyOf: (_path, provider) => `search/${provider}`, cannot: "searches nothing." },
  "web-fetch": { endpoint: "web-fetch", models: ["fetch"], apiType: null, general: false, nodePath: "/scrape", noun: "fetch", familyOf: (_path, provider) => `web-fetch/${provider}`, cannot: "fetches no pages." }
}

/** A connection's providerSpecificData key: the variable of the environment that it was made of. */
export const environmentVariable = "environmentVariable"

/**
 * The connections that may serve the kind. Jina's key of the environment embeds only where no key is stored for that
 * provider, whatever state the stored one is in: vectors of one index are paid for by one account.
 */
export const connectionsOf = <C extends Pick<Connection, "providerSpecificData" | "provider">>(
  { family }: Place, active: ReadonlyArray<C>, provider: string, stored: ReadonlyArray<Pick<Connection, "providerSpecificData" | "provider">>
): ReadonlyArray<C> => {
  const isOwn = ({ providerSpecificData }: Pick<Connection, "providerSpecificData">): boolean => providerSpecificData[environmentVariable] === undefined
  return family === "embeddings/jina" && stored.some((one) => one.provider === provider && isOwn(one)) ? active.filter(isOwn) : active
}

export const unknownProvider = (kind: OneShotKind, prefix: string): PublicError =>
  Errors.make("bad_request", `Unknown ${rules[kind].noun} provider: ${prefix.slice(0, 120)}`)

export const noCredentials = (kind: OneShotKind, provider: string): PublicError =>
  Errors.make("bad_request", `No credentials for ${rules[kind].noun} provider: ${provider}`)

const ofNode = ({ apiType: said, baseUrl, chatPath, type }: ProviderNode, kind: OneShotKind): Place | null => {
  const { apiType, general, nodePath: versioned, unversionedPath } = rules[kind]
  const nodePath = unversionedPath === undefined || /\/v\d+\w*\/?$/.test(baseUrl) ? versioned : unversionedPath
  if (type === "anthropic-compatible") return null
  if (apiType !== null && said === apiType) return { family: kind, path: chatPath ?? nodePath }
  return general && (said === null || said === "chat" || said === "responses") ? { family: kind, path: nodePath } : null
}

/** This machine, and the addresses that container networks use (172.16.0.0/12). */
const isNear = (origin: string): boolean => {
  const host = URL.canParse(origin) ? new URL(origin).hostname : ""
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host) || /^172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+$/.test(host)
}

/** Why a node that is called at `origin` may not serve the kind; null = it may. `isOn`: the flags. */
export const remoteRefusal = (kind: OneShotKind, { prefix }: ProviderNode, origin: string, isOn: (flag: RemoteFlag) => boolean): PublicError | null => {
  const { noun, remoteFlag } = rules[kind]
  return remoteFlag === undefined || isNear(origin) || isOn(remoteFlag)
    ? null
    : Errors.make("bad_request", `Provider node ${prefix} is not on this machine: flag ${remoteFlag} lets such nodes serve ${noun} requests.`)
}

export const placeOf = (kind: OneShotKind, { facts, id, node: named, row }: ResolvedModel, node: ProviderNode | null): Place | PublicError => {
  const rule = rules[kind]
  const isMultimodal = facts?.inputModalities?.some((modality) => modality !== "text") === true
  const path = (isMultimodal && rule.multimodalEndpoint !== undefined ? row?.paths?.[rule.multimodalEndpoint] : undefined) ?? row?.paths?.[rule.endpoint]
  const place = node !== null ? ofNode(node, kind) : path === undefined ? null : { family: rule.familyOf?.(path, row?.id ?? "", isMultimodal) ?? kind, path }
  if (place === null) return unknownProvider(kind, row?.id ?? named?.prefix ?? "")
  return facts !== null && rule.models.length > 0 && !rule.models.includes(facts.kind)
    ? Errors.make("bad_request", `Model '${id}' ${rule.cannot}`, { extra: { param: "model" } })
    : place
}
