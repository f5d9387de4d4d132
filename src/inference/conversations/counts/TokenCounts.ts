/**
 * Token counting as an operation of the lane: POST /v1/messages/count_tokens, POST /v1/responses/input_tokens and `:countTokens` of the generateContent format. A combo
 * counts for the target that it would ask first. A provider that counts for itself is asked, within the limits of the key; otherwise, or
 * when it rests or gives no count, the tokenizer estimates. Costs nothing; each wire call leaves its row, without tokens.
 */
import { once } from "#actors/request/ports/WalkPolicy.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import * as ConversationPaths from "#src/inference/conversations/conversationPaths.ts"
import type { ConversationServices } from "#src/inference/conversations/ConversationServices.ts"
import * as SystemPrompt from "#src/inference/conversations/words/systemPrompt.ts"
import { silent } from "#src/inference/conversations/ensembles/part.ts"
import * as GatewayHeaders from "#src/inference/lane/gatewayHeaders.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import type { Operation } from "#src/inference/lane/Operation.ts"
import { type AdmittedCall, type ConversationCall, left, type Stage } from "#src/inference/lane/stages/Stages.ts"
import type { DirectRoute } from "#src/platform/server/Exchange.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Route } from "#src/routing/Router.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import * as Formats from "#src/wire/formats.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import { Asked, type Words } from "./Asked.ts"
import * as CountJobs from "./countJobs.ts"
import * as CountServices from "./countServices.ts"
import * as Counting from "./counting.ts"
import { contentWords, messagesWords, responsesWords } from "./words.ts"
import * as StatusReason from "#schemas/statusReason.ts"

type CountOperation = Operation<RequestHead, ConversationCall>
type Entry = Pick<CountOperation, "endpoint" | "fromPath" | "expand">

/** The stages that say what a model is sent. */
const shaping: ReadonlySet<string> = new Set(["guardrails", "memory"])

/** The stages of a conversation that a count passes before its provider is asked. */
const passed: ReadonlySet<string> = new Set(["limits", "throttle"])

/** The first target's provider counts nothing, so the count is an estimate. */
const noCounter = Errors.make("model_not_supported", "The provider of this model counts no tokens.")

/** The counter of the target that would be asked first. It costs nothing, whatever its model does. */
const placeOf = ({ codec, format }: Words) => (route: Route): Route | PublicError => {
  const [first] = route.targets
  const path = first === undefined || first.wireFormat !== codec.name ? null : Counting.counterPath(format, first)
  return first === undefined || path === null ? noCounter : {
    ...route, targets: [{ ...first, path, streamPath: path, price: null }], policy: once, tracked: false, lastResort: false, succeeded: () => undefined
  }
}

const operationOf = (services: ConversationServices, words: Words, { endpoint, expand, fromPath }: Entry): CountOperation => {
  const { codec } = words
  const operation: CountOperation = {
    endpoint, fromPath, expand, category: "chat", codec, face: Formats.faceOf(codec, services.sseComments), errorBody: codec.errorBody,
    // What is no count is told by the stage that reads the body.
    head: ({ model }) => ({ model: typeof model === "string" ? model : "", stream: false, wantsUsage: false }),
    about: unknownRequest.about,
    dry: true,
    place: placeOf(words),
    // What is counted is what would be sent.
    stages: (all) => [...all.filter(({ name }) => shaping.has(name)), estimates(services, words, (call) => Lane.plan(services, operation, call.request, call as ConversationCall)), ...all.filter(({ name }) => passed.has(name)), ownAnswer],
    encode: ({ memory }, { prompt }) => new Asked(words, prompt, SystemPrompt.withMemory(services.systemPrompt(), memory)),
    services: CountServices.of
  }
  return operation
}

/** Answers with an estimate where no provider can be asked; else lets the call go on, and estimates when the provider gives no count. */
const estimates = (services: ConversationServices, { estimatedReply, format }: Words, plan: (call: AdmittedCall) => Lane.Plan): Stage => ({
  name: "estimates",
  applies: () => true,
  run: (call, next) => {
    const { body, client, large, memory, parsed, passage, tags } = call
    const systemPrompt = SystemPrompt.withMemory(services.systemPrompt(), memory)
    const go = (asked: Counting.Sampled | PublicError): void => {
      if (asked instanceof PublicError) {
        passage.refuse(asked)
        return
      }
      const estimate = (): void => client.respond(
        200, [...GatewayHeaders.common(tags), "Content-Type", "application/json"],
        estimatedReply(Math.round(services.request.accounting.estimate(asked.text) * asked.factor) + asked.fixedTokens)
      )
      const planned = plan(call)
      if (planned === noCounter || (planned instanceof Blocked && planned.skipped.length > 0)) estimate()
      else if (planned instanceof PublicError) passage.refuse(planned)
      else next({
        ...call,
        client: { ...silent, respond: (status, headers, reply) => StatusReason.isOk(status) ? client.respond(status, headers, reply) : estimate() }
      })
    }
    if (large === undefined) {
      go(Counting.read(format, parsed, systemPrompt))
      return
    }
    let gone = false
    passage.onGone(() => {
      gone = true
      passage.refuse(left("its tokens were counted"))
    })
    services.bodies.ask(CountJobs.count, { id: large.id, bytes: body, format, systemPrompt }, (asked) => {
      if (!gone) go(asked)
    })
  }
})

/** Behind the limits nothing is refused any more: whatever stands in the way of the provider's count, there is an estimate. */
const ownAnswer: Stage = {
  name: "ownAnswer",
  applies: () => true,
  run: (call, next) => next({
    ...call,
    passage: {
      refuse: (error) => {
        if (error.code === "client_closed_request") call.passage.refuse(error)
        else call.client.respond(error.status, [], "")
      },
      onGone: (listener) => call.passage.onGone(listener)
    }
  })
}

/** POST /v1/responses/input_tokens. */
export const ofResponses = (services: ConversationServices): DirectRoute =>
  Lane.route(services, operationOf(services, responsesWords, { endpoint: "/v1/responses/input_tokens", expand: services.expand }))

/** POST /v1/messages/count_tokens. */
export const ofMessages = (services: ConversationServices): DirectRoute =>
  Lane.route(services, operationOf(services, messagesWords, { endpoint: "/v1/messages/count_tokens" }))

/** POST /v1beta/models/{model}:countTokens, or with `v1`. */
export const ofGenerateContent = (services: ConversationServices): DirectRoute =>
  Lane.route(services, operationOf(services, contentWords, {
    endpoint: "/v1beta/models:countTokens",
    fromPath: (path) => ({ model: ConversationPaths.generateTarget(path)?.model ?? "" })
  }))
