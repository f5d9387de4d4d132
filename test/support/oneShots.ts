/** One row per kind of request without a conversation: how it is asked, what it costs, and what its answer may look like. */
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { OneShotKind } from "#schemas/wire/formats.ts"
import { formOf, tone, toneSeconds } from "./audio.ts"
import type * as Http from "./http.ts"
import type { Lab } from "./lab.ts"

export type Headers = Readonly<Record<string, string>>

export interface OneShot {
  readonly kind: OneShotKind
  readonly path: string
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: string
  /** Fields of its body beside the model. */
  readonly body: Readonly<Record<string, unknown>>
  /** Set where the body is a form: the field of its file, and the file's type. */
  readonly file?: { readonly name: string; readonly type: string }
  /** A price with which one request costs one USD. */
  readonly price: Record<string, number>
  readonly units: Units
  /** USD of one request at that price, where it is not one. */
  readonly costs?: 0
  /** Its price is known before it is answered, so that budgets reserve it. */
  readonly reserves: boolean
  /** The answer passes as it comes, as a stream does. */
  readonly streams?: true
  /** A provider of the registry that serves it, where nodes do not. */
  readonly provider?: string
  /** Where the simulator serves it; absent: `/v1`. */
  readonly base?: string
  /** Upstream statuses that clients are told as a bad gateway. */
  readonly hidden?: ReadonlyArray<number>
  /** Codes that clients are told of the upstream's failures, where its format has none of its own; by the status of the upstream. */
  readonly codes?: Readonly<Record<number, string>>
  /** Sent with each call: equal ones are not answered from a cache. */
  readonly headers?: Headers
}

const spoken = { input: "Say it".padEnd(1_000, "."), voice: "alloy" }
const song = { name: "file", type: "audio/wav" }
const picture = { prompt: "a cake" }
const second = toneSeconds

export const oneShots: ReadonlyArray<OneShot> = [
  { kind: "speech", path: "/v1/audio/speech", category: "audio", body: spoken, price: { per_character: 0.001 }, units: { character: 1_000 }, reserves: true, streams: true },
  { kind: "transcriptions", path: "/v1/audio/transcriptions", category: "audio", body: {}, file: song, price: { per_second: 1 / second }, units: { second }, reserves: true },
  { kind: "translations", path: "/v1/audio/translations", category: "audio", body: {}, file: song, price: { per_second: 1 / second }, units: { second }, reserves: true },
  { kind: "images", path: "/v1/images/generations", category: "images", body: { ...picture, n: 2 }, price: { per_image: 0.5 }, units: { image: 2 }, reserves: true },
  { kind: "image-edits", path: "/v1/images/edits", category: "images", body: { ...picture, n: "2" }, file: { name: "image", type: "image/png" }, price: { per_image: 0.5 }, units: { image: 2 }, reserves: true },
  { kind: "embeddings", path: "/v1/embeddings", category: "embeddings", body: { input: ["a", "b"] }, price: { per_request: 1 }, units: { request: 1 }, reserves: true },
  { kind: "classify", path: "/v1/classify", category: "classify", body: { input: ["a cake"], labels: ["food", "tool"] }, price: { per_request: 1 }, units: { request: 1 }, reserves: true, provider: "jina" },
  { kind: "segment", path: "/v1/segment", category: "segment", body: { content: "A cake.\n\nA tool." }, price: { per_request: 1 }, units: { request: 1 }, reserves: true, provider: "jina" },
  { kind: "videos", path: "/v1/videos/generations", category: "videos", body: { ...picture, duration: 4 }, price: { per_second: 0.25 }, units: { second: 4 }, reserves: true },
  { kind: "music", path: "/v1/music/generations", category: "music", body: { prompt: "a tune".padEnd(150, "."), duration: 3 }, price: { per_second: 1 / 3 }, units: { second: 3 }, reserves: true },
  { kind: "moderations", path: "/v1/moderations", category: "moderations", body: { input: "a cake" }, price: { per_request: 1 }, units: {}, costs: 0, reserves: false },
  { kind: "rerank", path: "/v1/rerank", category: "rerank", body: { query: "a", documents: ["a", "b"] }, price: { per_search_unit: 1 }, units: { document: 2, query: 1, search_unit: 1 }, reserves: true },
  { kind: "ocr", path: "/v1/ocr", category: "ocr", body: { document: "https://example.com/a.pdf" }, price: { per_page: 0.5 }, units: { page: 2 }, reserves: false, provider: "mistral" },
  {
    kind: "search", path: "/v1/search", category: "search", body: { query: "a cake" }, price: { per_query: 1 }, units: { query: 1 }, reserves: true, provider: "exa-search", base: "/exa",
    hidden: [401, 500], codes: { 200: "bad_gateway", 400: "bad_request", 401: "upstream_auth_error", 500: "internal_server_error" }, headers: { "x-gateway-no-cache": "true" }
  }
]

const rowOf = (kind: OneShotKind): OneShot => oneShots.find((row) => row.kind === kind) as OneShot

/** The same of vendors with formats of their own, one row for each. */
export const dialects: ReadonlyArray<OneShot> = [{ ...rowOf("speech"), provider: "elevenlabs" }, { ...rowOf("transcriptions"), provider: "deepgram" }, { ...rowOf("music"), provider: "minimax" }, { ...rowOf("search"), provider: "searchapi-search", base: "/searchapi" }]

const boundary = "----b0undary"

/** The request of a kind for a model. */
export const callOf = ({ body, file, headers: own, path }: OneShot, model: string, headers: Headers = {}): Http.Call => {
  if (file === undefined) return { path, headers: { ...own, ...headers }, body: { model, ...body } }
  const form = formOf({ model, ...body as Record<string, string> }, tone, file.type, boundary, file.name)
  return { path, headers: { "content-type": `multipart/form-data; boundary=${boundary}`, ...headers }, body: form }
}

export interface Place {
  /** Stands before the models. */
  readonly prefix: string
  readonly connection: string
  readonly price: (model: string, price: Record<string, number>) => Promise<unknown>
  readonly remove: () => Promise<unknown>
}

let made = 0

/** A connection of its own that serves the kind. One place of a kind of the registry at a time. */
export const placeOf = async ({ base = "/v1", kind, provider }: OneShot, lab: Lab): Promise<Place> => {
  const { operator } = lab.gateway
  const prefix = provider ?? `os${++made}`
  const id = provider ?? await operator.createNode({ prefix, baseUrl: `${lab.sim.url}/v1` })
  const connection = await operator.createConnection({ provider: id, apiKey: `${kind}-credential-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${base}` } })
  return {
    prefix, connection, price: (model, price) => operator.price(id, model, price), remove: () => operator.removeConnection(connection)
  }
}

/** Rows of one upstream model, the oldest first. */
export const rowsOf = async (lab: Lab, model: string): Promise<ReadonlyArray<LedgerRow>> =>
  (await lab.gateway.rows()).filter((row) => row.model === model).sort((a, b) => a.startedAt - b.startedAt)
