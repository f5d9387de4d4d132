/**
 * Hands each conversation to the hooks of active plugins: `onRequest` may change its body or refuse it, `onResponse` may change a whole
 * answer, and `onError` an error. The first stands before all that reads what is said, so that guardrails, caches and limits see what is
 * sent; the second behind what keeps responses for their clients, so that none is read past it. While no plugin is active, each costs one
 * comparison.
 */
import * as Effect from "effect/Effect"
import { PublicError } from "#schemas/errors.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import type { AdmittedCall, ConversationCall, Stage } from "#src/inference/lane/stages/Stages.ts"
import * as Stages from "#src/inference/lane/stages/Stages.ts"
import * as Bodies from "./hooks/bodies.ts"
import type { Hook } from "./hooks/Hook.ts"
import { HookedClient } from "./hooks/HookedClient.ts"
import * as Refusals from "./hooks/refusals.ts"
import { Plugins } from "./Plugins.ts"

const isConversation = (call: AdmittedCall): call is ConversationCall => call.codec !== null

/** What hooks are told beside a body, without the braces. */
const aboutOf = ({ endpoint, format, head: { model, stream }, key, tags: { requestId } }: AdmittedCall): string =>
  JSON.stringify({ model, stream, endpoint, format, requestId, apiKeyId: key === null ? null : key.id }).slice(1, -1)

const read = Effect.fnUntraced(function*(call: ConversationCall, hooks: ReadonlyArray<Hook>, about: string) {
  let left = call
  for (const hook of hooks) {
    const { body, large } = left
    if (large !== undefined || body.length > LARGE_BYTES) {
      yield* hook.unread("onRequest", "the body is too large")
      if (hook.failMode === "closed") return Refusals.tooLarge(hook.name, LARGE_BYTES)
      continue
    }
    const text = body.toString("utf8")
    const said = yield* hook.ask("onRequest", `{"body":${text},${about}}`)
    if (said._tag === "Refused") return Refusals.refused(hook.name, said.status, said.message)
    const next = said._tag === "Changed" ? Bodies.changed(left, text, said.body) : left
    const failure = typeof next === "string" ? yield* hook.unread("onRequest", next) : said
    if (typeof next !== "string") left = next
    if (failure._tag === "Failed" && hook.failMode === "closed") return Refusals.failed(hook.name)
  }
  return left
})

export const requests = Effect.gen(function*() {
  const plugins = yield* Plugins
  const { fork } = yield* Forks

  return {
    name: "plugins",
    applies: (call) => plugins.inForce() !== null && isConversation(call),
    run: (call, next) => {
      const { onRequest = [] } = plugins.inForce() ?? {}
      if (onRequest.length === 0 || !isConversation(call)) return next(call)
      Stages.wait(call, fork, read(call, onRequest, aboutOf(call)), "plugins read it", (said) => said instanceof PublicError ? call.passage.refuse(said) : next(said))
    }
  } satisfies Stage
})

export const answers = Effect.gen(function*() {
  const plugins = yield* Plugins
  const { fork } = yield* Forks

  return {
    name: "plugins of answers",
    applies: (call) => plugins.inForce() !== null && isConversation(call),
    run: (call, next) => {
      const hooks = plugins.inForce()
      if (hooks === null || hooks.onResponse.length + hooks.onError.length === 0 || !isConversation(call)) return next(call)
      next({ ...call, client: new HookedClient({ client: call.client, codec: call.codec, hooks, about: aboutOf(call), fork }) })
    }
  } satisfies Stage
})
