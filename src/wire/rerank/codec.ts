/** Requests that rank documents: the clients' format, and those of the servers that do it. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

/** Documents that one unit of search pays for, where a vendor bills by them. */
const documentsOfUnit = 100

export interface Note {
  /** Most results that are answered; null = all. */
  readonly most: number | null
  /** How many were ranked: an index beyond them is none of ours. */
  readonly count: number
  /** Their texts, where the client wants them back. */
  readonly documents: ReadonlyArray<string> | null
}

const textOf = (document: unknown): string | null =>
  typeof document === "string" ? document : Json.isRecord(document) && typeof document["text"] === "string" ? document["text"] : null

const documentsRefusal = (documents: unknown): PublicError | null => {
  if (!Array.isArray(documents) || documents.length === 0) return invalid("documents", "Field 'documents' must be a non-empty list of texts, or of objects with 'text'.")
  const wrong = documents.findIndex((one) => textOf(one) === null)
  return wrong < 0 ? null : invalid(`documents[${wrong}]`, `Field 'documents[${wrong}]' must be a text or an object with 'text'.`)
}

const head = (body: Body): RequestHead | PublicError =>
  OneShotJson.modelRefusal(body["model"], "cohere/rerank-v3.5") ?? OneShotJson.textRefusal(body, "query") ?? documentsRefusal(body["documents"]) ??
  OneShotJson.countRefusal(body, "top_n") ?? OneShotJson.flagRefusal(body, "return_documents") ?? { model: body["model"] as string, stream: false, wantsUsage: false }

const documentsOf = (body: Body): ReadonlyArray<unknown> => Array.isArray(body["documents"]) ? body["documents"] : []

/** What a request is expected to use. */
const unitsOf = (body: Body): Units => {
  const document = documentsOf(body).length
  return { document, query: 1, search_unit: Math.max(1, Math.ceil(document / documentsOfUnit)) }
}

export const units = (_head: RequestHead, body: Body): Units => unitsOf(body)

/** Members that have another name elsewhere, or none. */
const own: ReadonlySet<string> = new Set(["model", "query", "documents", "top_n", "return_documents"])

const othersOf = (parsed: Body): Body => Object.fromEntries(Object.entries(parsed).filter(([name]) => !own.has(name)))

const said = (name: string, value: unknown): Body => value === undefined || value === null ? {} : { [name]: value }

/** At most as many results as there are documents: some servers refuse to be asked for more. */
const mostOf = ({ top_n: most }: Body, texts: ReadonlyArray<string>): unknown => typeof most === "number" ? Math.min(most, texts.length) : most

/** The two spellings that servers of this kind know, so that each finds its own. */
const both = (parsed: Body, model: string, texts: ReadonlyArray<string>): Body => ({
  ...othersOf(parsed), model, query: parsed["query"], documents: texts, texts, ...said("top_n", mostOf(parsed, texts)),
  ...said("return_documents", parsed["return_documents"]), ...said("return_text", parsed["return_documents"])
})

const bodyFor = (family: string, parsed: Body, model: string, texts: ReadonlyArray<string>): Body => {
  if (family === "rerank") return both(parsed, model, texts)
  const { query } = parsed
  const most = mostOf(parsed, texts)
  // Neither gives documents back under a name that all of them share: the gateway does.
  return family === "rerank/voyage"
    ? { ...othersOf(parsed), model, query, documents: texts, ...said("top_k", most) }
    : { ...othersOf(parsed), model, query, documents: texts, ...said("top_n", most) }
}

/** A node's target with its second path: some servers have `/rerank` without a version. Vendors' own formats have one path. */
export const placed = <T extends Pick<Target, "path" | "secondPath" | "wireFormat">>(target: T): T => {
  const { path, wireFormat: family } = target
  return family === "rerank" && /\/v\d+\w*\/rerank$/.test(path) ? { ...target, secondPath: path.replace(/\/v\d+\w*\/rerank$/, "/rerank") } : target
}

interface Result {
  readonly index: number
  readonly score: number
}

const resultOf = (count: number) => (one: unknown): ReadonlyArray<Result> => {
  if (!Json.isRecord(one)) return []
  const { index } = one
  const score = one["relevance_score"] ?? one["score"]
  return Number.isSafeInteger(index) && (index as number) >= 0 && (index as number) < count && typeof score === "number" && Number.isFinite(score)
    ? [{ index: index as number, score }]
    : []
}

/** The list of results: a bare list, or under the name that the server gives it. */
const listIn = (answer: unknown): ReadonlyArray<unknown> | null => {
  if (Array.isArray(answer)) return answer
  if (!Json.isRecord(answer)) return null
  const list = answer["results"] ?? answer["data"]
  return Array.isArray(list) ? list : null
}

const unitsIn = (answer: Body, count: number): Units => {
  const meta = answer["meta"]
  const billed = Json.isRecord(meta) ? meta["billed_units"] : undefined
  const said = Json.isRecord(billed) ? billed["search_units"] : undefined
  return { document: count, query: 1, search_unit: typeof said === "number" ? said : Math.max(1, Math.ceil(count / documentsOfUnit)) }
}

const parse = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"))
  } catch {
    return null
  }
}

const read = (bytes: Uint8Array, { makeId, model, note: { count, documents, most } }: Wanted<RequestHead, Note>): AnswerFacts | null => {
  const answer = parse(bytes)
  const list = listIn(answer)
  const record = Json.isRecord(answer) ? answer : {}
  if (list === null) return OneShotJson.errorOr(bytes, Json.isRecord(answer) ? answer : null)
  const results = list.flatMap(resultOf(count))
  // A result that cannot be read would leave a gap that no client sees.
  if (results.length !== list.length) return null
  const used = unitsIn(record, count)
  const usage = OneShotJson.usageIn(record)
  const body = {
    id: typeof record["id"] === "string" && record["id"] !== "" ? record["id"] : `rerank-${makeId()}`,
    model,
    results: [...results].sort((a, b) => b.score - a.score).slice(0, most ?? results.length).map(({ index, score }) => ({
      index, relevance_score: score, ...(documents === null ? {} : { document: { text: documents[index] } })
    })),
    meta: { billed_units: { search_units: used.search_unit } },
    ...(usage === null ? {} : { usage: record["usage"] })
  }
  return OneShotJson.answered(Buffer.from(JSON.stringify(body)), { usage, units: used })
}

export const codec: OneShotCodec<RequestHead, Note> = {
  head,
  units: unitsOf,
  encode: (family, { model, parsed }) => {
    const texts = documentsOf(parsed).flatMap((one) => textOf(one) ?? [])
    return {
      body: Buffer.from(JSON.stringify(bodyFor(family, parsed, model, texts))),
      omitted: OneShotJson.nothing,
      note: { most: typeof parsed["top_n"] === "number" ? parsed["top_n"] : null, count: texts.length, documents: parsed["return_documents"] === true ? texts : null }
    }
  },
  read: (_family, bytes, wanted) => read(bytes, wanted),
  readError: (_family, body) => OneShotJson.readError(body)
}
