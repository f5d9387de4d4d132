/** The port TargetTests over the request path: a short conversation of the gateway's own as a request of its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { runCall } from "#actors/ensemble/runCall.ts"
import { textOf } from "#actors/ensemble/instructions.ts"
import { TargetTests } from "#src/inference/ports/TargetTests.ts"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import { PublicError } from "#schemas/errors.ts"
import { PlannedRequest } from "#src/inference/lane/PlannedRequest.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import { ConversationEncoding } from "#src/inference/conversations/ConversationEncoding.ts"
import { type ConversationServices, Conversing } from "#src/inference/conversations/ConversationServices.ts"
import { partOf, quietView, silent } from "./part.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import type { Route } from "#src/routing/Router.ts"
import { client as codec } from "#src/wire/chatCompletions/index.ts"
import * as Formats from "#src/wire/formats.ts"

/** Tokens that an answer may have: a thinking model needs some before its first word. */
const maxTokens = 64
/** Characters of an answer that are shown. */
const shown = 500

const nothing = (): void => undefined

export const make = (all: ConversationServices): TargetTests["Service"] => ofServices({ ...all, systemPrompt: () => null, thinkingRule: () => null, compression: () => null })

/** Its own question is no client's conversation. */
const ofServices = (services: ConversationServices): TargetTests["Service"] => ({
  test: (target, endpoint, timeoutMs) => Effect.suspend(() => {
    const parsed = { model: target.publicModel, max_tokens: maxTokens, messages: [{ role: "user", content: "Reply with the single word: OK" }] }
    const body = Buffer.from(JSON.stringify(parsed))
    const prompt = new Prompt(body, parsed)
    const head = { model: target.publicModel, stream: false, wantsUsage: false }
    const request = { query: "", header: () => undefined, remoteAddress: "" }
    const route: Route = {
      strategy: "single", combo: null, targets: [target], policy: once, lastResort: true, tracked: false, succeeded: nothing, config: null,
      order: { order: [], skipped: [], memory: null }, refused: () => [], forbidden: () => []
    }
    const call: ConversationCall = {
      tags: { requestId: services.admission.makeRequestId(), sessionTag: null, session: null },
      key: null, endpoint, format: codec.name, codec, body, parsed, head, units: null, request, client: { ...silent, respond: nothing }, interceptors: [],
      passage: { refuse: nothing, onGone: nothing }
    }
    const encoding = new ConversationEncoding(services, codec, head, prompt, route)
    const conversation = encoding.decoded()
    if (conversation instanceof PublicError) return Effect.succeed({ statusCode: conversation.status, error: conversation.message, text: null, latencyMs: 0 })
    const inbound = new PlannedRequest(services, { face: Formats.faceOf(codec, true) }, { header: () => undefined, headers: [], query: "" }, call, { route, prompt }, encoding)
    const part = partOf({ services, codec, head, prompt, route, inbound }, { conversation, targets: [target], view: quietView(inbound.route, true) })
    const { limits, now } = services.request
    const { total } = limits.timeouts
    const startedAt = now()
    const own = {
      ...services.request,
      limits: { ...limits, maxAttempts: 1, timeouts: { ...limits.timeouts, total: total === 0 ? timeoutMs : Math.min(total, timeoutMs) } }
    }
    return Effect.map(runCall(services, own, part.inbound), () => {
      const { answer, error } = part.given(null)
      return {
        statusCode: error === null ? 200 : error.status,
        error: error === null ? null : error.message,
        text: answer === null ? null : textOf(answer).slice(0, shown),
        latencyMs: Math.round(now() - startedAt)
      }
    })
  })
})

export const layer = Layer.effect(TargetTests, Effect.map(Conversing, make))
