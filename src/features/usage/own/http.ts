import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { answer } from "#src/management/answer.ts"
import * as BearerKey from "#src/inference/lane/bearerKey.ts"
import * as OwnUsage from "./ownUsage.ts"
import { builtin } from "#src/providers/Registry.ts"
import { SelfUsageGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

/** Names of keys may hold any letter. */
const plain = (text: string, status = 200) => HttpServerResponse.text(text, { status, contentType: "text/plain; charset=utf-8" })

const refused = (status: number, message: string, json: boolean) => json
  ? HttpServerResponse.jsonUnsafe({ allowed: false, error: { message } }, { status })
  : plain(`${message}\n`, status)

export const layer = HttpApiBuilder.group(Surface.make(SelfUsageGroup), "selfUsage", Effect.fn(function*(handlers) {
  const keys = yield* Keys
  const limits = yield* Limits
  const configuration = yield* Configuration
  const quotas = yield* Quotas
  const sources: OwnUsage.ReportSources = { limits, quotas: () => ({ quotas, registry: builtin, snapshot: configuration.current() }) }

  const read = Effect.fnUntraced(function*(json: boolean) {
    const now = yield* Clock.currentTimeMillis
    const presented = yield* BearerKey.presented(null, now).pipe(Effect.provideService(Keys, keys), Effect.provideService(Limits, limits))
    if (presented === null) return refused(401, "Send your own API key as 'Authorization: Bearer <key>'.", json)
    if ("refused" in presented) {
      return presented.error === null
        ? refused(401, "The API key is not valid.", json)
        : refused(presented.error.status, presented.error.message, json)
    }
    if (!presented.key.policy.allowUsageCommand) {
      return refused(403, "This API key may not read its usage: allowUsageCommand is off.", json)
    }
    const usage = yield* OwnUsage.read(sources, presented.key, now)
    return json ? HttpServerResponse.jsonUnsafe(usage) : plain(OwnUsage.text(usage))
  })

  return handlers.handleAll({ read: ({ query }) => answer(read(query.format === "json")) })
}))
