/**
 * Token counting: POST /v1/messages/count_tokens and `:countTokens` of the generateContent format (supplement 11.10). A combo counts
 * for the target that it would ask first. A provider that counts for itself is asked; otherwise, or when it rests or does not answer,
 * the tokenizer estimates. Costs nothing and leaves no row.
 */
import type { Accounting } from "#actors/ports/Accounting.ts"
import type { Target } from "#actors/ports/Target.ts"
import { headerOf, type Upstream } from "#actors/ports/Upstream.ts"
import { joinBytes } from "#actors/bytes.ts"
import { PublicError } from "#schemas/errors.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as ConversationPaths from "#src/http/conversationPaths.ts"
import * as GatewayHeaders from "#src/http/GatewayHeaders.ts"
import * as Intake from "#src/http/Intake.ts"
import { type Router, unknownRequest } from "#src/routing/Router.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import type { DirectRoute } from "#src/server/Exchange.ts"
import * as GenerateModels from "#src/wire/generateContent/models.ts"
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json.ts"
import * as MessagesCount from "#src/wire/messages/countTokens.ts"
import type { Countable } from "#src/wire/messages/countTokens.ts"
import { client as messages } from "#src/wire/messages/index.ts"
import { promptText } from "#src/wire/neutral/promptText.ts"

export interface TokenCountServices extends Intake.IntakeServices {
  readonly router: () => Router
  readonly accounting: Accounting["Service"]
  readonly upstream: Upstream["Service"]
  /** ms since the epoch. */
  readonly now: () => number
}

/** A count that takes longer than this is estimated, ms. */
const providerMs = 10_000
/** Largest reply of a provider, bytes. */
const maxReply = 64 * 1024

/** What one format says about counting. */
interface Counting {
  readonly gate: Intake.Gate
  readonly face: FormatName
  readonly read: (path: string, parsed: Record<string, unknown>) => Countable | PublicError
  /** Path and body of the provider's own counter; null when the target has none. */
  readonly providerCall: (target: Target, parsed: Record<string, unknown>) => { readonly path: string; readonly body: string } | null
  readonly providerReply: (reply: Record<string, unknown>, target: Target) => string | null
  readonly estimatedReply: (tokens: number) => string
}

const route = (services: TokenCountServices, counting: Counting): DirectRoute => (exchange) => {
  let call: { readonly abort: () => void } | null = null
  exchange.onAbort(() => call?.abort())
  Intake.take(exchange, services, counting.gate, ({ key, parsed, refuse, tags }) => {
    const asked = counting.read(exchange.path, parsed)
    if (asked instanceof PublicError) {
      refuse(asked)
      return
    }
    // A count takes nobody's turn.
    const routed = services.router().route({
      model: asked.model, key, face: counting.face, session: null, headers: {}, about: () => unknownRequest, now: services.now(), dry: true
    })
    const rests = routed instanceof Blocked && routed.skipped.length > 0
    if (routed instanceof PublicError && !rests) {
      refuse(routed)
      return
    }
    const target = routed instanceof PublicError ? null : routed.targets[0] as Target
    const answer = (reply: string): void => {
      if (exchange.closed) return
      exchange.respond(200, [
        "X-Gateway-Request-Id", tags.requestId, "X-Gateway-Version", GatewayHeaders.version, "Content-Type", "application/json"
      ], reply)
    }
    const estimate = (): void => answer(counting.estimatedReply(services.accounting.estimate(asked.text) + asked.fixedTokens))
    const providerCall = target !== null && target.wireFormat === counting.face ? counting.providerCall(target, parsed) : null
    if (target === null || providerCall === null) {
      estimate()
      return
    }
    call = askProvider(services.upstream, target, providerCall, (reply) => {
      const counted = reply === null ? null : counting.providerReply(reply, target)
      if (counted === null) estimate()
      else answer(counted)
    })
  })
}

/** POST /v1/messages/count_tokens. */
export const ofMessages = (services: TokenCountServices): DirectRoute => route(services, {
  gate: { endpoint: "/v1/messages/count_tokens", category: "chat", errorBody: messages.errorBody },
  face: "messages",
  read: (_path, parsed) => MessagesCount.readCountRequest(parsed),
  providerCall: (target, parsed) => {
    const [path = "", query] = target.path.split("?", 2)
    return path.endsWith("/messages")
      ? { path: `${path}/count_tokens${query === undefined ? "" : `?${query}`}`, body: JSON.stringify({ ...parsed, model: target.model }) }
      : null
  },
  providerReply: (reply, target) => MessagesCount.providerReply(reply, target.publicModel, target.providerAlias),
  estimatedReply: MessagesCount.estimatedReply
})

/** POST /v1beta/models/{model}:countTokens, or with `v1`. */
export const ofGenerateContent = (services: TokenCountServices): DirectRoute => route(services, {
  gate: { endpoint: "/v1beta/models", category: "chat", errorBody: generateContent.errorBody },
  face: "generateContent",
  read: (path, parsed) => {
    const target = ConversationPaths.generateTarget(path)
    const conversation = GenerateModels.decodeCountTokens(parsed)
    if (conversation instanceof PublicError) return conversation
    return { model: target === null ? "" : target.model, text: promptText(conversation), fixedTokens: 0 }
  },
  providerCall: (target, parsed) => target.path.includes(":generateContent")
    ? { path: target.path.replace(":generateContent", ":countTokens"), body: JSON.stringify(parsed) }
    : null,
  providerReply: (reply) => typeof reply["totalTokens"] === "number" ? JSON.stringify(reply) : null,
  estimatedReply: (tokens) => JSON.stringify(GenerateModels.countTokensAnswer(tokens))
})

/** Calls `done` once: with the provider's JSON of a 200, or null. */
const askProvider = (
  upstream: Upstream["Service"],
  target: Target,
  asked: { readonly path: string; readonly body: string },
  done: (reply: Record<string, unknown> | null) => void
): { readonly abort: () => void } => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  let good = false
  return upstream.dispatch({
    origin: target.origin,
    path: asked.path,
    method: "POST",
    headers: target.headers,
    body: asked.body,
    timeouts: { connect: providerMs, headers: providerMs, firstEvent: 0, idle: providerMs, total: providerMs },
    proxy: target.proxy
  }, {
    onHead: (status, headers) => {
      good = status === 200 && (headerOf(headers, "content-type") ?? "").includes("json")
    },
    onData: (chunk) => {
      length += chunk.length
      if (length > maxReply) good = false
      else chunks.push(Buffer.from(chunk))
    },
    onEnd: () => done(good ? Json.parseRecord(Buffer.from(joinBytes(chunks, length)).toString("utf8")) : null),
    onFailure: () => done(null)
  })
}
