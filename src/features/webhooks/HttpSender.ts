/** One delivery attempt on the wire: what a kind of receiver takes, sent by the guarded post, within 10 s in all. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { UrlGuard } from "#actors/ports/UrlGuard.ts"
import { WebhookSender } from "#actors/webhook/ports/WebhookSender.ts"
import * as GuardedPost from "#src/platform/upstream/post/GuardedPost.ts"
import { wireForm } from "./wireForms.ts"

export { ATTEMPT_MS } from "#src/platform/upstream/post/GuardedPost.ts"

export const make = Effect.fnUntraced(function*(options: GuardedPost.Options) {
  const post = yield* GuardedPost.make(options)
  return WebhookSender.of({
    send: (webhook, event) => Effect.suspend(() => {
      const form = wireForm(webhook, event)
      return form === null ? Effect.succeed({ status: 0, error: `the webhook has no valid metadata for its kind ${webhook.kind}`, blocked: true }) : post(form)
    }).pipe(Effect.catchDefect(() => Effect.succeed({ status: 0, error: "the call could not be made", blocked: false })))
  })
})

/** The sender over the guard. */
export const layer = (options: GuardedPost.Options = {}): Layer.Layer<WebhookSender, never, UrlGuard> => Layer.effect(WebhookSender, make(options))
