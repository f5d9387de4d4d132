/** Who may give tasks: an API key that the request presents, as for inference, or an operator. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import { Keys } from "#actors/ports/Keys.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as BearerKey from "#src/inference/lane/bearerKey.ts"
import { presentedKey } from "#src/inference/lane/InferenceCall.ts"
import type { AgentHead } from "#src/inference/ports/AgentCalls.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import { answer } from "#src/management/answer.ts"
import * as A2aCaller from "./A2aCaller.ts"

/** What a key's `allowedEndpoints` calls the agent-to-agent server. */
const ENDPOINT = "a2a"

/** What the task's own request says anew, of a key alone. */
const credentials: ReadonlySet<string> = new Set(["authorization", "x-api-key", "x-goog-api-key"])

const challenge = { headers: { "www-authenticate": "Bearer" } }

export const make = Effect.gen(function*() {
  const keys = yield* Keys
  const limits = yield* Limits
  const environmentKeys = yield* EnvironmentKeys

  return Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const call = yield* ManagementCall
    const address = Option.getOrElse(request.remoteAddress, () => "")
    const raw = presentedKey({ query: request.url.split("?", 2)[1] ?? "", header: (name) => request.headers[name], remoteAddress: address })
    const headers = Object.entries(request.headers).flatMap(([name, value]) => value === undefined || credentials.has(name) ? [] : [name, value])
    const peerAddress = Option.getOrElse(request.peerAddress, () => "")
    const operator = A2aCaller.ofOperator(call.caller, { headers, peerAddress, remoteAddress: address })
    if (operator !== null) return operator
    const authorization = `Bearer ${raw ?? ""}`
    const head: AgentHead = { headers: [...headers, "authorization", authorization], peerAddress, remoteAddress: address }
    const sent = { head, presents: { authorization, address } }
    if (call.caller.kind === "key") return A2aCaller.ofKey(call.caller.key, sent)
    const permanent = raw === null || raw === "" ? undefined : environmentKeys.get(keys.hash(raw))
    if (permanent !== undefined) return A2aCaller.ofKey(permanent, sent)
    const presented = yield* answer(BearerKey.presented(ENDPOINT, yield* Clock.currentTimeMillis).pipe(Effect.provideService(Keys, keys), Effect.provideService(Limits, limits)))
    if (presented === null) return yield* Effect.fail(Refusal.unauthorized("An API key is required: send 'Authorization: Bearer <key>'.", challenge))
    if ("refused" in presented) {
      return yield* Effect.fail(presented.error === null || StatusReason.of(presented.error.status) === "credential"
        ? Refusal.unauthorized(presented.error?.message ?? "The API key is not valid.", challenge)
        : Refusal.forbidden(presented.error.message))
    }
    return A2aCaller.ofKey(presented.key, sent)
  })
})
