/** Pages that are fetched and read: the clients' format, and how each vendor is asked and read. Pure. */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import { LONGEST_MODEL_ID } from "#schemas/wire/modelId.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { Asked, Encoded, MediaWish, OneShotCodec, Wanted } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import * as SearchErrors from "#src/wire/search/errors.ts"
import * as Request from "./request.ts"
import type { PageRequest } from "./request.ts"
import * as Vendors from "./vendors/index.ts"

type Body = Readonly<Record<string, unknown>>

const units: Units = { page: 1 }

const mostLinks = 2_000
/** The vendor is well, and the page is not. */
const refusedStatus = 422

const head = (body: Body): RequestHead | PublicError => {
  // The path says which model it is, and a large body is read without its path.
  const { model = "" } = body
  if (typeof model !== "string" || model.length > LONGEST_MODEL_ID) return invalid("provider", `Field 'provider' must be a text of 1 to ${LONGEST_MODEL_ID} characters, such as 'firecrawl'.`)
  const request = Request.read(body)
  return request instanceof PublicError ? request : { model, stream: false, wantsUsage: false }
}

/** The provider can give the format. */
export const gives = (provider: string, format: Request.PageFormat): boolean => Vendors.ofProvider(provider)?.formats.has(format) === true

export const cannot = (provider: string, format: string): PublicError =>
  Errors.make("bad_request", `Fetch provider '${provider}' gives no ${format}.`, { extra: { param: "format" } })

export const providerOf = (family: TargetFamily): string => family.slice("web-fetch/".length)

const encode = (family: TargetFamily, { parsed }: Asked): Encoded<PageRequest> | PublicError => {
  const vendor = Vendors.ofFamily(family)
  const request = Request.read(parsed)
  if (request instanceof PublicError) return request
  if (vendor === null || !vendor.formats.has(request.format)) return cannot(providerOf(family), request.format)
  return {
    body: Buffer.from(JSON.stringify(vendor.ask(request))), headers: vendor.headers?.(request) ?? [], note: request,
    omitted: [...request.depth > 0 ? ["depth"] : [], ...request.selector !== null && !vendor.waits ? ["wait_for_selector"] : []]
  }
}

/** Every address is checked before it is named to a server, and the built-in reader checks each redirect, too. */
const media = (_family: TargetFamily, { parsed }: Asked): MediaWish | PublicError => {
  const request = Request.read(parsed)
  if (request instanceof PublicError) return request
  return { remote: [{ url: request.url.replace(/^http:/, "https:"), at: "url", types: null }], maxBytes: 0, room: 0 }
}

const link = /\]\((https?:\/\/[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)/g

/** The addresses that a Markdown text links to, for vendors that list none. */
const linksIn = (markdown: string): ReadonlyArray<string> => [...new Set(Array.from(markdown.matchAll(link), ([, url]) => url as string))]

const isAddress = (url: string): boolean => /^https?:\/\//i.test(url)

const read = (family: TargetFamily, bytes: Uint8Array, { model, note: { format, metadata, url } }: Wanted<RequestHead, PageRequest>): AnswerFacts | null => {
  const answer = OneShotJson.recordOf(bytes)
  if (answer === null) return null
  const said = SearchErrors.errorIn(answer)
  const fetched = Vendors.ofFamily(family)?.fetched(answer, format) ?? null
  if (fetched === null) return said === null ? null : { usage: null, error: said, body: bytes, outputText }
  // The vendor answered, and has no page.
  if (typeof fetched === "string") return { usage: null, error: { message: fetched, type: null, code: null, status: refusedStatus }, body: bytes, outputText }
  const { content, description, screenshot, title } = fetched
  if (format === "screenshot" ? screenshot === null : content === null && (format !== "links" || fetched.links === null)) return null
  const links = format === "links" ? (fetched.links ?? linksIn(content ?? "")).filter(isAddress).slice(0, mostLinks) : []
  const body = {
    provider: model.slice(0, model.indexOf("/")), url, content: format === "links" || format === "screenshot" ? "" : content ?? "", links,
    metadata: metadata ? { title, description } : null, screenshot_url: format === "screenshot" ? screenshot : null
  }
  return OneShotJson.answered(Buffer.from(JSON.stringify(body)), { usage: null, units })
}

const outputText = (): string => ""

export const codec: OneShotCodec<RequestHead, PageRequest> = { head, units: () => units, encode, media, read, readError: (_family, body) => SearchErrors.readError(body) }
