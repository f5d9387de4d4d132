import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Semaphore from "effect/Semaphore"
import { hasTag } from "#schemas/api/entityTag.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Declarations from "#src/features/configFile/ports/declarations.ts"
import { answer } from "#src/management/answer.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"
import * as Surface from "#src/management/Surface.ts"
import { type CloudAction, SyncGroup } from "./api.ts"
import * as Bundle from "./bundle.ts"
import * as Cloud from "./cloud/Cloud.ts"
import type { SyncToken } from "./ports/SyncToken.ts"
import * as SyncTokens from "./tokens/SyncTokens.ts"

const viewOf = ({ tokenHash: _tokenHash, ...view }: SyncToken) => view

export const layer = HttpApiBuilder.group(Surface.make(SyncGroup), "sync", Effect.fn(function*(handlers) {
  const cloud = yield* Cloud.make
  const tokens = yield* SyncTokens.make
  const innerOf = yield* InnerApi.make
  // One at a time: it reads all records.
  const one = yield* Semaphore.make(1)

  const made = Semaphore.withPermits(one, 1)(Effect.mapError(
    Effect.map(Declarations.shared(innerOf({ key: null, acts: { kind: "local" } })), ({ content, leftOut, variables }) => Bundle.make({ config: content, leftOut, variables })),
    ({ message }) => Refusal.unavailable(message)
  ))
  const bundle = Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    yield* tokens.admit(headers["authorization"])
    const { text, version } = yield* made
    const known = { etag: `"${version}"`, "x-config-version": version, "cache-control": "private, no-cache" }
    return hasTag(headers["if-none-match"], known.etag)
      ? HttpServerResponse.empty({ status: 304, headers: known })
      : HttpServerResponse.text(text, { contentType: "application/json", headers: known })
  })

  const change = Effect.fnUntraced(function*({ action, token }: CloudAction) {
    if (action !== "enable" && token !== undefined) return yield* Effect.fail(Refusal.invalidField("token", "Only with the action enable"))
    yield* action === "enable" ? cloud.enable(token) : action === "sync" ? cloud.sync : cloud.disable
    return { success: true as const, action, status: yield* cloud.status }
  })

  return handlers.handleAll({
    tokens: () => answer(Effect.map(tokens.list, (all) => ({ tokens: all.map(viewOf) }))),
    createToken: ({ payload }) => answer(Effect.map(tokens.mint(payload.name), ({ syncToken, token }) => ({ token, syncToken: viewOf(syncToken) }))),
    revokeToken: ({ params }) => answer(Effect.as(tokens.revoke(params.id), { success: true as const })),
    bundle: () => answer(bundle),
    initialize: () => answer(Effect.gen(function*() {
      const initialized = (yield* cloud.status).enabled
      if (initialized) yield* cloud.sync
      return { success: true as const, initialized, status: yield* cloud.status }
    })),
    cloud: () => answer(cloud.status),
    changeCloud: ({ payload }) => answer(change(payload))
  })
}))
