/** The gateway's own reader behind the port that servers are called through: its pages have rows, budgets and explanations like any other. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Upstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from "#actors/request/ports/Upstream.ts"
import type { MediaFetch } from "#src/platform/media/MediaFetch.ts"
import { type PageFormat, readable } from "#src/platform/pages/page.ts"
import { PageReader, PageRefused } from "#src/platform/pages/PageReader.ts"
import * as Json from "#src/wire/json/json.ts"
import { ORIGIN } from "#src/wire/webFetch/vendors/builtin.ts"
import type * as Robots from "./Robots.ts"

/** Of one page. */
const maxBytes = 5 * 1024 * 1024
const redirects = 5
/** To fetch and read one page, its wait for a thread included, ms. */
const wholeMs = 30_000

export interface Parts {
  readonly media: Pick<MediaFetch["Service"], "take">
  readonly pages: PageReader["Service"]
  /** Null: robots.txt is not asked. */
  readonly robots: Robots.Check | null
  /** Runs an effect; answers the way to interrupt it. */
  readonly fork: (effect: Effect.Effect<void>) => () => void
}

const json = ["content-type", "application/json"]

/** The page is at fault, and no other page: the reader itself is well. */
const refusedStatus = 422

const formatOf = (value: unknown): PageFormat => value === "html" || value === "links" ? value : "markdown"

const pageOf = Effect.fnUntraced(function*({ media, pages, robots }: Parts, asked: Readonly<Record<string, unknown>>) {
  const url = String(asked["url"]).replace(/^http:/, "https:")
  if (robots !== null) yield* robots(url)
  const { bytes, charset, mediaType, url: at } = yield* media.take(url, { accepts: readable, maxBytes, room: { left: maxBytes }, redirects })
  // A redirect may lead to a page that is closed.
  if (robots !== null && at !== url) yield* robots(at)
  return yield* pages.read({ bytes, charset, mediaType, url: at, format: formatOf(asked["format"]) })
})

/** A request for a page is short JSON, never in pieces. */
const textOf = (body: UpstreamRequest["body"]): string => typeof body === "string" ? body : body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : ""

const readWith = (parts: Parts, { body }: UpstreamRequest, handler: UpstreamHandler): UpstreamCall => {
  const asked = Json.parseRecord(textOf(body)) ?? {}
  let over = false
  const tell = (status: number, said: unknown): void => {
    if (over) return
    over = true
    handler.onHead(status, json)
    handler.onData(Buffer.from(JSON.stringify(said)))
    handler.onEnd()
  }
  const refuse = (message: string): void => tell(refusedStatus, { error: { message: `The page could not be read: ${message}.`, code: "page_unreadable" } })
  const limited = Effect.timeoutOrElse(pageOf(parts, asked), { duration: Duration.millis(wholeMs), orElse: () => Effect.fail(new PageRefused({ message: `it takes longer than ${wholeMs} ms` })) })
  const stop = parts.fork(Effect.match(limited, { onFailure: ({ message }) => refuse(message), onSuccess: (page) => tell(200, page) }))
  return {
    pause: () => undefined, resume: () => undefined, useful: () => undefined,
    abort: () => {
      over = true
      stop()
    }
  }
}

/** Calls for the reader's address are served here, all others as before. */
export const withReader = (upstream: Upstream["Service"], parts: Parts): Upstream["Service"] => ({
  ...upstream,
  dispatch: (request, handler) => request.origin === ORIGIN ? readWith(parts, request, handler) : upstream.dispatch(request, handler)
})
