/**
 * Token counting: POST /v1/messages/count_tokens and `:countTokens` of the generateContent format. A combo counts for the target that
 * it would ask first. A provider that counts for itself is asked, within the limits of the key; otherwise, or when it rests or gives no
 * count, the tokenizer estimates. Costs nothing; each wire call leaves its row.
 */
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { RequestActor } from "#actors/request/Request.ts"
import { PublicError } from "#schemas/errors.ts"
import * as Counting from "#src/inference/conversations/counts/counting.ts"
import * as CountJobs from "./CountJobs.ts"
import * as CountCall from "./countCall.ts"
import type { ConversationServices } from "#src/inference/conversations/services.ts"
import { silent } from "#src/inference/conversations/ensembles/part.ts"
import * as GatewayHeaders from "#src/inference/lane/GatewayHeaders.ts"
import * as Intake from "#src/inference/lane/Intake.ts"
import * as Stages from "#src/inference/lane/stages/Stage.ts"
import { unknownRequest } from "#src/routing/Router.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import * as GenerateModels from "#src/wire/generateContent/models.ts"
import { client as generateContent } from "#src/wire/generateContent/index.ts"
import * as MessagesCount from "#src/wire/messages/request/countTokens.ts"
import { client as messages } from "#src/wire/messages/index.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

export interface TokenCountServices extends ConversationServices {
  readonly accounting: Accounting["Service"]
}

/** The stages of a conversation that a count passes before its provider is asked. */
const passed: ReadonlySet<string> = new Set(["limits", "throttle"])

/** What one format says about counting. */
interface Dialect {
  readonly gate: Intake.Gate
  readonly codec: ClientCodec
  readonly format: Counting.CountingFormat
  readonly providerReply: (reply: Readonly<Record<string, unknown>>, target: Target) => string | null
  readonly estimatedReply: (tokens: number) => string
}

const route = (services: TokenCountServices, { codec, estimatedReply, format, gate, providerReply }: Dialect): DirectRoute => {
  const stages = services.stages.filter(({ name }) => passed.has(name))
  return (exchange) => {
    let request: RequestActor | null = null
    let gone: (() => void) | null = null
    exchange.onAbort((reason) => {
      if (request === null) gone?.()
      else if (reason === "shutdown") request.shutDown()
      else request.clientLeft(reason === "slow-reader")
    })
    Intake.take(exchange, services, gate, ({ body, key, large, parsed, refuse, tags }) => {
      /** Goes on unless the client left meanwhile. */
      const heard = <A>(done: (said: A) => void) => (said: A | PublicError): void => {
        if (said instanceof PublicError) refuse(said)
        else if (!exchange.closed) done(said)
      }
      const counting = (asked: Counting.Sampled): void => {
        // A count takes nobody's turn.
        const routed = services.router().route({
          model: asked.model, key, face: codec.name, session: null, headers: {}, about: () => unknownRequest, now: services.request.now(), dry: true
        })
        const rests = routed instanceof Blocked && routed.skipped.length > 0
        if (routed instanceof PublicError && !rests) {
          refuse(routed)
          return
        }
        const answer = (reply: string | null): void => {
          if (exchange.closed) return
          exchange.respond(200, [
            "X-Gateway-Request-Id", tags.requestId, "X-Gateway-Version", GatewayHeaders.version, "Content-Type", "application/json"
          ], reply ?? estimatedReply(Math.round(services.accounting.estimate(asked.text) * asked.factor) + asked.fixedTokens))
        }
        const target = routed instanceof PublicError ? undefined : routed.targets[0]
        const path = target === undefined || target.wireFormat !== codec.name ? null : Counting.counterPath(format, target)
        if (routed instanceof PublicError || target === undefined || path === null) {
          answer(null)
          return
        }
        const ask = heard((sent: Uint8Array): void => {
          const call: Stages.ConversationCall = {
            tags, key, endpoint: gate.endpoint, format: codec.name, codec, body, parsed, head: { model: asked.model, stream: false, wantsUsage: false }, units: null, request: exchange,
            client: { ...silent, respond: () => undefined }, companions: [], refuse,
            onGone: (listener) => {
              gone = listener
            }
          }
          Stages.pass(stages, call, (admitted) => {
            const actor = CountCall.actorOf(services, exchange, admitted, routed, { target, path, body: sent, replyOf: (reply) => providerReply(reply, target) }, answer)
            request = actor
            services.live.add(actor)
            actor.attach(services.fork(actor.run))
          })
        })
        if (large === null) ask(Counting.counterBody(format, parsed, target.model))
        else services.bodies.ask(CountJobs.counter, { id: large.id, bytes: body, format, model: target.model }, ask)
      }
      if (large === null) heard(counting)(Counting.read(format, exchange.path, parsed))
      else services.bodies.ask(CountJobs.count, { id: large.id, bytes: body, format, path: exchange.path }, heard(counting))
    })
  }
}

/** POST /v1/messages/count_tokens. */
export const ofMessages = (services: TokenCountServices): DirectRoute => route(services, {
  gate: { endpoint: "/v1/messages/count_tokens", category: "chat", errorBody: messages.errorBody },
  codec: messages,
  format: "messages",
  providerReply: (reply, target) => MessagesCount.providerReply(reply, target.publicModel, target.providerAlias),
  estimatedReply: MessagesCount.estimatedReply
})

/** POST /v1beta/models/{model}:countTokens, or with `v1`. */
export const ofGenerateContent = (services: TokenCountServices): DirectRoute => route(services, {
  gate: { endpoint: "/v1beta/models:countTokens", category: "chat", errorBody: generateContent.errorBody },
  codec: generateContent,
  format: "generateContent",
  providerReply: (reply) => typeof reply["totalTokens"] === "number" ? JSON.stringify(reply) : null,
  estimatedReply: (tokens) => JSON.stringify(GenerateModels.countTokensAnswer(tokens))
})
