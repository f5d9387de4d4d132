/** Formats that read documents: `POST /v1/ocr`, and `:analyze`, which answers with a job that is over half a second later. */
import * as Predicate from "effect/Predicate"
import { Bad, missing, requiredModel, strictly } from "./chatRequest.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { SimulatedCall, Format, RequestHead } from "./Format.ts"
import { pagesIn } from "./media/pdf.ts"
import { oneShotCall } from "./oneShotCall.ts"

/** A job takes so long, ms. */
const JOB_MS = 500

const json = (value: unknown): ReadonlyArray<Buffer> => [Buffer.from(JSON.stringify(value))]

const longestName = 200

/** Of an address two pages; of a PDF that is sent along its own. */
const pagesOf = (address: string): ReadonlyArray<string> => {
  const [, base64] = /^data:application\/pdf;base64,(.*)$/is.exec(address) ?? []
  if (base64 === undefined) return [`# Page one of ${address.slice(0, longestName)}`, "The second page."]
  const pages = pagesIn(Buffer.from(base64, "base64"))
  if (pages === null) throw new Bad("The document is no PDF.", "document", "invalid_file")
  return pages
}

const read = strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  const { document } = body
  if (!Predicate.isObject(document)) throw missing("document")
  const { document_url: file, image_url: image } = document as Record<string, unknown>
  const address = file ?? image
  if (!Predicate.isString(address)) throw new Bad("document must name a document_url or an image_url", "document")
  const pages = pagesOf(address).map((markdown, index) => ({ index, markdown, images: [] }))
  return oneShotCall(model, 0, () => ({ type: "application/json", pieces: json({ pages, model, usage_info: { pages_processed: pages.length, doc_size_bytes: null } }) }))
})

const analyzePath = /^\/documentintelligence\/documentModels\/([^/:]+)(?::analyze|\/analyzeResults\/(\d+))$/

const begin = (model: string, body: Readonly<Record<string, unknown>>, { headers, path }: RequestHead): SimulatedCall => {
  if (!Predicate.isString(body["urlSource"]) && !Predicate.isString(body["base64Source"])) throw missing("urlSource")
  const job = `http://${headers.host ?? ""}${path.replace(":analyze", "/analyzeResults/")}${Date.now() + JOB_MS}`
  return oneShotCall(model, 0, () => ({ status: 202, type: "application/json", headers: { "operation-location": job }, pieces: [Buffer.alloc(0)] }))
}

const look = (model: string, readyAt: number): SimulatedCall => {
  const pages = pagesOf("a job")
  const content = pages.join("\n")
  const done = {
    status: "succeeded",
    analyzeResult: { content, pages: pages.map((text, i) => ({ pageNumber: i + 1, spans: [{ offset: content.indexOf(text), length: text.length }] })) }
  }
  return oneShotCall(model, 0, () => ({ type: "application/json", pieces: json(Date.now() < readyAt ? { status: "running" } : done) }))
}

const analyze = strictly((body, request): SimulatedCall => {
  const [, model = "", readyAt] = analyzePath.exec(request.path) ?? []
  return readyAt === undefined ? begin(model, body, request) : look(model, Number(readyAt))
})

const common = { events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError }

export const ocr: Format = { ...common, name: "ocr", matches: (path) => path === "/v1/ocr", read }

export const documentAnalysis: Format = {
  ...common, name: "document-analysis", methods: ["GET"], matches: (path) => analyzePath.test(path),
  identify: (path) => ({ model: analyzePath.exec(path)?.[1] ?? null, stream: false }), read: analyze
}
