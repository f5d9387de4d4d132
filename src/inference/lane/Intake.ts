/**
 * How every inference endpoint with a JSON body begins: draining, key and policy, body, JSON. Synchronous where it can be: large bodies are
 * read by threads of their own, and only an outline of them comes back.
 */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey, EndpointName } from "#schemas/records/ApiKey.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import type { Large } from "#src/inference/lane/bodies/Prompt.ts"
import { type Asked, nothing as nothingAsked, type PreviousResponses } from "#src/inference/ports/PreviousResponses.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import * as FormErrors from "./forms/formErrors.ts"
import * as Forms from "./forms/forms.ts"
import * as GatewayHeaders from "./gatewayHeaders.ts"
import type { RequestTags } from "./gatewayHeaders.ts"
import * as InferenceCall from "./InferenceCall.ts"
import * as LeaseContext from "./leaseContext.ts"
import * as RouteReport from "./RouteReport.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as FormReader from "#src/wire/form/FormReader.ts"
import * as ContentCoding from "#src/platform/server/contentCoding.ts"
import type { BodyFailure, Continues, Exchange } from "#src/platform/server/Exchange.ts"
import { LARGE_BYTES, LARGE_CONTAINERS } from "#schemas/largeBodies.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"

/** Forms may be as large as the vendors' audio files, bytes: 25 MiB and what stands around them. */
export const FORM_BYTES = 26 * 1024 * 1024

export interface IntakeServices extends Forms.FormServices {
  readonly admission: InferenceCall.AdmissionServices
  /** Largest body in bytes. */
  readonly maxBodyBytes: () => number
  /** Where large bodies are read. */
  readonly bodies: BodyWorkers
  /** True once a shutdown began: new work is refused. */
  readonly draining: () => boolean
  /** Counts and logs a request that was answered without being planned; absent `asker`: nothing is known of it. */
  readonly refused: (endpoint: string, tags: RequestTags, error: PublicError, asker?: Asker) => void
}

/** Whose request it is and what it asks, as far as it was read. */
export interface Asker {
  readonly key: ApiKey | null
  /** The model that it names. */
  readonly model: string | null
  /** When it began to wait, ms since the epoch; absent: it did not. */
  readonly since?: number | undefined
}

/** Where a request came in, as far as its beginning depends on it. */
export interface Gate {
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: EndpointName
  readonly errorBody: (error: PublicError) => string
  /** The key that stands in the path. */
  readonly token?: ((path: string) => string | null) | undefined
  /** The format whose head is checked; absent where the body is something else. */
  readonly format?: CallFormat | undefined
  /** Model and stream flag stand in the path. */
  readonly modelInPath?: boolean | undefined
  /** True where the body is multipart/form-data and no JSON. */
  readonly isForm?: boolean | undefined
  /** Reads a part of the form while it arrives, such as the length of a sound; absent or null: nothing is read. */
  readonly meterOf?: ((head: FormReader.PartHead) => Form.Meter | null) | undefined
  /** Changes the body before it is read: calls `done` at once or later. Absent: nothing. */
  readonly expand?: PreviousResponses["Service"]["expand"] | undefined
  /** Moves a conversation to where its format has it, before the head is read. Absent: nothing. */
  readonly withMessages?: ClientCodec["withMessages"]
  /** Bytes that a body may have whatever the setting says, where the endpoint takes media; absent: the setting alone. */
  readonly leastBodyLimit?: number | undefined
  /** True where the lease of a managed key is confirmed before each upstream call; elsewhere such a key is refused. */
  readonly fenced?: boolean | undefined
}

/** A body that was read. */
interface ReadBody {
  readonly body: Buffer
  /** What the body says; of a large one the outline. */
  readonly parsed: Record<string, unknown>
  readonly large: Large | null
}

/** One request on its way in: it is taken in once, or answered here. A class, because its six closures cost each request 0.4 kB. */
export abstract class Arrival<Services extends IntakeServices, At extends Gate> {
  protected readonly exchange: Exchange
  protected readonly services: Services
  protected readonly gate: At
  protected readonly tags: RequestTags
  protected key: ApiKey | null = null
  /** The model that it names; null until its head was read. */
  protected model: string | null = null
  /** Largest body in bytes. */
  private limit = 0

  /** Register `onAbort` before `take`. */
  constructor(exchange: Exchange, services: Services, gate: At) {
    this.exchange = exchange
    this.services = services
    this.gate = gate
    this.tags = InferenceCall.tagsOf(exchange, services.admission)
  }

  /** Calls `taken` at once or later. */
  take(): void {
    const { exchange, gate, services } = this
    if (services.draining()) {
      this.refuse(Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 }))
      return
    }
    const head = gate.token === undefined ? exchange : withToken(exchange, gate.token(exchange.path))
    const decided = InferenceCall.decideNow(head, gate.category, services.admission)
    if (decided !== undefined) this.admitted(decided)
    else InferenceCall.admit(head, gate.category, services.admission, this.admitted.bind(this))
  }

  /** It may be served. `parsed`: what the body says, of a large one the outline; `form`: where the body is one; `asked`: what it does not say. */
  protected abstract taken(body: Buffer, parsed: Record<string, unknown>, large: Large | null, form: Form.Form | null, asked: Asked): void

  /** Ends the exchange with an error in the client's words, and counts it. */
  refuse(error: PublicError, since?: number): void {
    const { exchange, gate, services, tags } = this
    services.refused(gate.endpoint, tags, error, { key: this.key, model: this.model, since })
    if (exchange.closed) return
    const headers = GatewayHeaders.ofError(tags, error, 0)
    const explains = error instanceof Blocked && exchange.header("x-gateway-explain")?.toLowerCase() === "true"
    exchange.respond(error.status, explains ? [...headers, "X-Gateway-Trace", RouteReport.headerOfBlocked(error)] : headers, gate.errorBody(error))
  }

  private admitted(key: ApiKey | null | PublicError): void {
    const { exchange, gate, services } = this
    if (key instanceof PublicError) {
      this.refuse(key)
      return
    }
    const unfenced = gate.fenced === true ? null : LeaseContext.refusalUnfenced(exchange, key)
    if (unfenced !== null) {
      this.refuse(unfenced)
      return
    }
    const boundary = gate.isForm === true ? FormReader.boundaryOf(exchange.header("content-type")) : null
    if (gate.isForm === true && boundary === null) {
      this.refuse(Errors.make("unsupported_media_type", "This endpoint takes multipart/form-data with a boundary, and no other type of body."))
      return
    }
    const wrongType = key === null && boundary === null ? Pages.bodyRefusal(exchange.header("content-type")) : null
    if (wrongType !== null) {
      this.refuse(wrongType)
      return
    }
    this.key = key
    this.limit = Math.max(boundary === null ? gate.leastBodyLimit ?? 0 : FORM_BYTES, services.maxBodyBytes())
    if (boundary === null) exchange.readBody(this.limit, this.bodyCame.bind(this))
    else this.takeForm(boundary)
  }

  private takeForm(boundary: string): void {
    const { exchange, gate: { meterOf }, limit, services } = this
    Forms.take(exchange, services, { boundary, limit, meterOf }, (form) => {
      if (typeof form === "string") this.refuse(bodyError(form, limit, exchange))
      else if (form instanceof PublicError) this.refuse(form)
      else this.taken(noBytes, Form.fieldsOf(form), null, form, nothingAsked)
    })
  }

  private bodyCame(bytes: Uint8Array | null, failure: BodyFailure | null): void {
    if (bytes === null) {
      if (failure !== null && failure !== "aborted") this.refuse(bodyError(failure, this.limit, this.exchange))
      return
    }
    const body = Jobs.bodyOf(bytes)
    const { expand } = this.gate
    if (expand !== undefined) this.expand(body, expand)
    else if (body.length >= JsonBounds.HARMLESS_BYTES) this.read(body, nothingAsked)
    else {
      const parsed = Jobs.parseBody(body)
      if (parsed instanceof PublicError) this.refuse(parsed)
      else {
        const moved = this.gate.withMessages?.(parsed, body) ?? null
        if (moved === null) this.taken(body, parsed, null, null, nothingAsked)
        else if (moved instanceof PublicError) this.refuse(moved)
        else this.read(moved, nothingAsked)
      }
    }
  }

  private expand(body: Buffer, expand: PreviousResponses["Service"]["expand"]): void {
    const { exchange } = this
    expand(body, this.key, (whole, asked) => {
      if (whole instanceof PublicError) this.refuse(whole)
      else if (!exchange.closed) this.read(whole, exchange.continues === undefined ? asked : withOwn(asked, exchange.continues))
    })
  }

  private read(whole: Buffer, asked: Asked): void {
    const { exchange, gate, services } = this
    readMore(whole, services.bodies, gate, (read) => {
      if (read instanceof PublicError) this.refuse(read)
      else if (!exchange.closed) this.taken(read.body, read.parsed, read.large, null, asked)
    })
  }
}

/** With what the gateway itself says of the request. */
const withOwn = (asked: Asked, { conversation, makes, previous }: Continues): Asked => ({
  inBackground: asked.inBackground || makes !== undefined, conversation: conversation ?? asked.conversation, previous: previous ?? asked.previous, makes: makes ?? null
})

const noBytes = Buffer.alloc(0)

/** Bodies that may hold more than they look: those that cost the loop more than a moment are read by others. */
const readMore = (body: Buffer, workers: BodyWorkers, gate: Gate, done: (read: ReadBody | PublicError) => void): void => {
  const size = body.length > LARGE_BYTES ? null : body.length < JsonBounds.HARMLESS_BYTES ? harmless : JsonBounds.measure(body)
  if (size !== null && "what" in size) return done(Jobs.refusalOf(size))
  if (size !== null && size.containers <= LARGE_CONTAINERS) {
    const parsed = Jobs.parseBody(body)
    if (parsed instanceof PublicError) return done(parsed)
    const moved = gate.withMessages?.(parsed, body) ?? null
    if (moved === null) return done({ body, parsed, large: null })
    return moved instanceof PublicError ? done(moved) : readMore(moved, workers, gate, done)
  }
  const id = workers.nextId()
  const bytes = shared(body)
  workers.ask(Jobs.opening, { id, bytes, format: gate.format ?? null, fromPath: gate.modelInPath === true }, (said) => {
    if (said instanceof PublicError) return done(said)
    if ("moved" in said) return readMore(asBuffer(said.moved), workers, gate, done)
    const large: Large = { id, containers: said.containers, digest: said.digest, identity: said.identity, leastTokens: said.leastTokens, units: said.units, media: said.media, grown: nothing }
    done({ body: bytes, parsed: said.outline, large })
  })
}

const nothing = {}
const harmless = { containers: 0 }

/** In memory that threads share, so that a body is not copied for every job about it; a large one mostly came there. */
const shared = (body: Buffer): Buffer => body.buffer instanceof SharedArrayBuffer ? body : Jobs.sharedCopyOf(body)

/** Why a body may not be parsed at all; null for all but hostile ones. */
export const excessive = (body: Buffer): PublicError | null => {
  const excess = JsonBounds.excessOf(body)
  return excess === null ? null : Jobs.refusalOf(excess)
}

/** The same head with the path's token as its key; a broken token is a wrong key. */
export const withToken = (head: InferenceCall.CallHead, token: string | null): InferenceCall.CallHead => ({
  query: "",
  remoteAddress: head.remoteAddress,
  header: (name) => name === "authorization" ? `Bearer ${token ?? ""}` : head.header(name)
})

/** Why a body was not read, for the client that waits. */
export const bodyError = (failure: Exclude<BodyFailure, "aborted">, limit: number, head: Pick<Exchange, "header">): PublicError => {
  const coded = head.header("content-encoding")
  const coding = (coded ?? "").slice(0, 40)
  switch (failure) {
    case "too-large":
      return Errors.make(
        "payload_too_large",
        `The request body is larger than ${limit} bytes${coded === undefined ? "" : " when it is decompressed"} (setting maxBodySizeMb, MAX_BODY_SIZE_BYTES).`
      )
    case "no-room":
      return FormErrors.noRoom()
    case "timeout":
      return Errors.make("request_timeout", "The request body did not arrive in time.")
    case "coding":
      return Errors.make("unsupported_media_type", `Content-Encoding '${coding}' is not accepted: send ${ContentCoding.accepted}.`)
    case "undecodable":
      return Errors.make("bad_request", `The request body is not complete '${coding}' data, as its Content-Encoding says.`, { extra: { param: "Content-Encoding" } })
  }
}
