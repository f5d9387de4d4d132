/**
 * Media that a client's request names by URL. Public HTTPS only, whatever the flags for provider URLs say: the name is resolved once, the
 * socket goes to the addresses that were checked, and each redirect is checked as the first URL was.
 */
import * as net from "node:net"
import * as tls from "node:tls"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { UrlBlocked } from "#actors/ports/UrlGuard.ts"
import { http } from "#src/platform/structures/nodeHttp.ts"
import * as Resolver from "#src/platform/upstream/Resolver.ts"
import * as AddressGuard from "#src/platform/upstream/AddressGuard.ts"

const longestFetchMs = 15_000
const mostRedirects = 3
/** Largest response head, bytes. */
const maxHeadBytes = 32 * 1024

/** Why a medium was not fetched: a clause that goes on after "was not fetched: ". */
export class MediaRefused extends Schema.TaggedError<MediaRefused>()("MediaRefused", {
  message: Schema.String,
  /** What its server answered, where that is why. */
  status: Schema.NullOr(Schema.Number)
}) {}

export interface Medium {
  /** Without parameters, lower case. */
  readonly mediaType: string
  /** The parameter of its type; null without one. */
  readonly charset: string | null
  /** Where it was, after redirects. */
  readonly url: string
  /** In memory that threads share. */
  readonly bytes: Uint8Array
}

/** Bytes that several fetches may still take together. */
export interface Room {
  left: number
}

export interface Wanted {
  readonly accepts: (mediaType: string) => boolean
  /** Of one medium. */
  readonly maxBytes: number
  readonly room: Room
  /** Redirects that are followed; absent: 3. */
  readonly redirects?: number
}

/** What lies between this process and the public network; a test puts its own there. */
export interface Network {
  readonly resolve: Resolver.Resolve
  /** Where an address that was checked is dialled. */
  readonly route: (address: string) => string
  readonly ca?: ReadonlyArray<string>
  /** For one medium, all redirects included, ms; absent: 15 s. */
  readonly fetchMs?: number
}

export const Network = Context.Reference<Network>("gateway/media/Network", { defaultValue: () => ({ resolve: Resolver.system, route: (address) => address }) })

export class MediaFetch extends Context.Service<MediaFetch, {
  /** The URL may be named to a provider, which fetches it itself. */
  readonly check: (url: string) => Effect.Effect<void, MediaRefused>
  readonly take: (url: string, wanted: Wanted) => Effect.Effect<Medium, MediaRefused>
}>()("gateway/media/MediaFetch") {}

const refuse = (message: string, status: number | null = null): MediaRefused => new MediaRefused({ message, status })

const blocked = ({ message }: UrlBlocked): MediaRefused => refuse(message)

interface Redirect {
  readonly to: string
}

/** Statuses whose `location` is followed. */
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const okStatus = 200

/** Only these addresses are dialled. */
const pinned = (addresses: ReadonlyArray<string>, { route }: Network): net.LookupFunction => (_host, options, done) => {
  const entries = addresses.map(route).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
  const [first] = entries
  if (options.all === true) done(null, entries)
  else done(null, first?.address ?? "", first?.family)
}

const collected = (chunks: ReadonlyArray<Buffer>, length: number): Uint8Array => {
  const bytes = new Uint8Array(new SharedArrayBuffer(length))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

const charsetIn = (contentType: string | undefined): string | null => /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? "")?.[1] ?? null

const once = (url: URL, addresses: ReadonlyArray<string>, wanted: Wanted, network: Network) => Effect.callback<Medium | Redirect, MediaRefused>((resume) => {
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const plain = net.connect({ host, port: url.port === "" ? 443 : Number(url.port), lookup: pinned(addresses, network), autoSelectFamily: true })
  const socket = tls.connect({
    socket: plain, ALPNProtocols: ["http/1.1"], ...(addresses.includes(host) ? {} : { servername: host }), ...(network.ca === undefined ? {} : { ca: [...network.ca] })
  })
  let over = false
  const settle = (answer: Effect.Effect<Medium | Redirect, MediaRefused>): void => {
    if (over) return
    over = true
    plain.destroy()
    socket.destroy()
    resume(answer)
  }
  const fail = (message: string, status: number | null = null): void => settle(Effect.fail(refuse(message, status)))
  plain.on("error", () => fail(`no connection to ${url.host}`))
  socket.on("error", () => fail(`no connection to ${url.host}`))
  const request = http.request({
    method: "GET", path: `${url.pathname}${url.search}`, createConnection: () => socket, maxHeaderSize: maxHeadBytes,
    headers: { host: url.host, accept: "*/*", "accept-encoding": "identity", "user-agent": "gateway", connection: "close" }
  })
  request.on("error", () => fail(`${url.host} broke off before it had answered`))
  request.on("response", (response) => {
    const { headers, statusCode = 0 } = response
    if (redirects.has(statusCode)) {
      const to = headers.location === undefined ? null : URL.parse(headers.location, url.href)
      return to === null ? fail(`${url.host} redirects nowhere`) : settle(Effect.succeed({ to: to.href }))
    }
    if (statusCode !== okStatus) return fail(`${url.host} answered with status ${statusCode}`, statusCode)
    const mediaType = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? ""
    if (!wanted.accepts(mediaType)) return fail(`its content type is '${mediaType.slice(0, 100)}'`)
    if ((headers["content-encoding"] ?? "identity") !== "identity") return fail("it is compressed")
    const most = Math.min(wanted.maxBytes, wanted.room.left)
    if (Number(headers["content-length"] ?? 0) > most) return fail(`it has more than ${most} bytes`)
    const chunks: Array<Buffer> = []
    let length = 0
    response.on("data", (chunk: Buffer) => {
      length += chunk.length
      wanted.room.left -= chunk.length
      if (length > wanted.maxBytes || wanted.room.left < 0) fail(`it has more than ${most} bytes`)
      else chunks.push(chunk)
    })
    response.on("error", () => fail(`${url.host} broke off`))
    response.on("end", () => response.complete ? settle(Effect.succeed({ mediaType, charset: charsetIn(headers["content-type"]), url: url.href, bytes: collected(chunks, length) })) : fail(`${url.host} broke off`))
  })
  request.end()
  return Effect.sync(() => {
    over = true
    plain.destroy()
    socket.destroy()
  })
})

export const make = (network: Network): MediaFetch["Service"] => {
  const guard = AddressGuard.make({ policy: () => ({ local: false, private: false, guard: true }), resolve: network.resolve, httpsOnly: ["media"] })
  const { fetchMs = longestFetchMs } = network
  const checked = (url: string) => Effect.mapError(guard.check(url, "media"), blocked)

  const from = (url: string, wanted: Wanted, left: number): Effect.Effect<Medium, MediaRefused> => Effect.flatMap(checked(url), (addresses) =>
    Effect.flatMap(once(new URL(url), addresses, wanted, network), (said) =>
      "bytes" in said ? Effect.succeed(said) : left === 0 ? Effect.fail(refuse(`more than ${wanted.redirects ?? mostRedirects} redirects`)) : from(said.to, wanted, left - 1)))

  return {
    check: (url) => Effect.asVoid(checked(url)),
    take: (url, wanted) => Effect.timeoutOrElse(from(url, wanted, wanted.redirects ?? mostRedirects), {
      duration: Duration.millis(fetchMs), orElse: () => Effect.fail(refuse(`it did not arrive within ${fetchMs} ms`))
    })
  }
}
