/**
 * Requests that read documents: the clients' format, which one vendor shares; `ocr/analyze`, whose servers answer with a job that is asked
 * for until it is over; `ocr/chat`, whose models read one image in a conversation. Pure.
 */
import type { AnswerFacts, JobReply, Poll, UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { Asked, MediaWish, OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

/** What reads when the client names no model. */
const usualModel = "mistral/mistral-ocr-latest"
/** Between two questions about a job, and how many are asked. */
const pollMs = 1_000
const mostPolls = 30

/** Where the document is: an address, or bytes as a `data:` URI. */
const addressOf = (document: unknown): string | null => {
  if (typeof document === "string") return document === "" ? null : document
  if (!Json.isRecord(document)) return null
  const { type } = document
  const address = type === "image_url" ? document["image_url"] : type === "document_url" || type === undefined ? document["document_url"] : undefined
  const said = Json.isRecord(address) ? address["url"] : address
  return typeof said === "string" && said !== "" ? said : null
}

const documentRefusal = (document: unknown): PublicError | null => {
  const address = addressOf(document)
  if (address === null) return invalid("document", "Field 'document' is required: {type: 'document_url', document_url}, {type: 'image_url', image_url}, or an address.")
  return isRemote(address) || inline.test(address) ? null : invalid("document", "Field 'document' must name an https address or a data: URI with base64.")
}

const isRemote = (address: string): boolean => /^https:\/\//i.test(address)

/** Texts of a large body are cut to 64 characters while it is planned: a long media type may hide what follows. */
const inline = /^data:(?:[^,]*;base64,[\w+/-]|[^,]{59}$)/i

const isPage = (page: unknown): boolean => Number.isSafeInteger(page) && (page as number) >= 0

/** One page, a list of them, or a text such as `0-2,5`; the first one is 0. */
const pagesRefusal = ({ pages }: Body): PublicError | null => {
  const isList = pages === undefined || pages === null || isPage(pages) || (Array.isArray(pages) && pages.every(isPage)) ||
    (typeof pages === "string" && /^\d+(?:-\d+)?(?:,\s*\d+(?:-\d+)?)*$/.test(pages))
  return isList ? null : invalid("pages", "Field 'pages' must be a page number from 0, a list of them, or a text such as '0-2,5'.")
}

/** The vendor fetches the document: the gateway only sees to it that the address is public. */
const media = (_family: TargetFamily, { parsed }: Asked): MediaWish => {
  const url = addressOf(parsed["document"])
  return { remote: url !== null && isRemote(url) ? [{ url, at: "document", types: null }] : [], maxBytes: 0, room: 0 }
}

/** The document as the clients' format has it. */
const documentOf = (document: unknown): unknown => typeof document === "string" ? { type: "document_url", document_url: document } : document

const sourceOf = (address: string): Body => {
  const [, base64] = /^data:[^,]*;base64,(.*)$/is.exec(address) ?? []
  return base64 === undefined ? { urlSource: address } : { base64Source: base64 }
}

const nothing: ReadonlyArray<string> = []

/** Members that the other two understand. */
const understood: ReadonlySet<string> = new Set(["model", "document"])

const recordsAt = (record: Body, name: string): ReadonlyArray<Body> => Array.isArray(record[name]) ? record[name].filter(Json.isRecord) : []

const forwarded = (bytes: Uint8Array, parsed: Body, model: string): AnswerFacts | null => {
  const pages = recordsAt(parsed, "pages")
  if (!Array.isArray(parsed["pages"]) || pages.length !== parsed["pages"].length) return null
  const info = Json.isRecord(parsed["usage_info"]) ? parsed["usage_info"] : {}
  const processed = typeof info["pages_processed"] === "number" ? info["pages_processed"] : pages.length
  const body = Buffer.from(JSON.stringify({ ...parsed, model, usage_info: { ...info, pages_processed: processed } }))
  return OneShotJson.answered(body, { usage: null, units: { page: processed } })
}

/** The text of a page: its spans of the whole text. */
const markdownOf = (content: string, page: Body): string =>
  recordsAt(page, "spans").map(({ length, offset }) => typeof offset === "number" && typeof length === "number" ? content.slice(offset, offset + length) : "").join("")

const analyzed = (parsed: Body, model: string): AnswerFacts | null => {
  const result = parsed["analyzeResult"]
  if (!Json.isRecord(result) || typeof result["content"] !== "string") return null
  const { content } = result
  const pages = recordsAt(result, "pages").map((page, index) => ({ index, markdown: markdownOf(content, page) }))
  const body = Buffer.from(JSON.stringify({ pages, model, usage_info: { pages_processed: pages.length } }))
  return OneShotJson.answered(body, { usage: null, units: { page: pages.length } })
}

/** What a model that talks is told to do with its image. */
const task = "Convert the document to markdown."

const conversationOf = (model: string, parsed: Body): Body => ({
  model, stream: false,
  messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: addressOf(parsed["document"]) } }, { type: "text", text: task }] }]
})

/** The answer of a conversation is the one page. */
const told = (parsed: Body, model: string): AnswerFacts | null => {
  const [choice] = recordsAt(parsed, "choices")
  const message = choice?.["message"]
  const markdown = Json.isRecord(message) ? message["content"] : undefined
  if (typeof markdown !== "string") return null
  const body = Buffer.from(JSON.stringify({ pages: [{ index: 0, markdown }], model, usage_info: { pages_processed: 1 } }))
  return OneShotJson.answered(body, { usage: OneShotJson.usageIn(parsed), units: { page: 1 } })
}

/** What went wrong in a job that failed. */
const failureIn = (parsed: Body): UpstreamErrorBody => {
  const error = Json.isRecord(parsed["error"]) ? parsed["error"] : {}
  return {
    message: typeof error["message"] === "string" ? error["message"] : "The document could not be read.", type: null,
    code: typeof error["code"] === "string" ? error["code"] : null, status: null
  }
}

const stillRunning = Errors.make("gateway_timeout", `The document was not read within ${mostPolls * pollMs / 1_000} s.`)

const isChat = (family: string): boolean => family === "ocr/chat"

const isAnalyze = (family: string): boolean => family === "ocr/analyze"

const pollOf = ({ body, headers, polls, status }: JobReply): Poll | PublicError | null => {
  if (!StatusReason.isOk(status)) return null
  const parsed = OneShotJson.recordOf(body)
  const isOpen = polls === 0 || parsed?.["status"] === "running" || parsed?.["status"] === "notStarted"
  if (!isOpen) return null
  if (polls >= mostPolls) return stillRunning
  const address = headerOf(headers, "operation-location")
  // Later replies do not name the job again.
  return polls > 0 ? { url: null, afterMs: pollMs } : address === undefined ? null : { url: address, afterMs: pollMs }
}

export const codec: OneShotCodec<RequestHead> = {
  head: (body) => {
    const { document, model = usualModel } = body
    return OneShotJson.modelRefusal(model, usualModel) ?? documentRefusal(document) ?? pagesRefusal(body) ?? OneShotJson.flagRefusal(body, "include_image_base64") ?? { model: model as string, stream: false, wantsUsage: false }
  },
  media,
  encode: (family, { model, parsed }) => isAnalyze(family) || isChat(family)
    ? {
      body: Buffer.from(JSON.stringify(isChat(family) ? conversationOf(model, parsed) : sourceOf(addressOf(parsed["document"]) ?? ""))), note: null,
      omitted: Object.keys(parsed).filter((name) => !understood.has(name) && parsed[name] !== null)
    }
    : { body: Buffer.from(JSON.stringify({ ...parsed, model, document: documentOf(parsed["document"]) })), omitted: nothing, note: null },
  read: (family, bytes, { model }) => {
    const parsed = OneShotJson.recordOf(bytes)
    if (parsed === null) return null
    if (isAnalyze(family)) {
      return parsed["status"] === "failed" ? { usage: null, error: failureIn(parsed), body: bytes, outputText: () => "" } : analyzed(parsed, model) ?? OneShotJson.errorOr(bytes, parsed)
    }
    if (isChat(family)) return told(parsed, model) ?? OneShotJson.errorOr(bytes, parsed)
    return forwarded(bytes, parsed, model) ?? OneShotJson.errorOr(bytes, parsed)
  },
  readError: (_family, body) => OneShotJson.readError(body),
  pollOf: (family, reply) => isAnalyze(family) ? pollOf(reply) : null
}
