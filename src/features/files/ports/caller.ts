/** Whose files and batches a call of the client surface is about. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import { Keys } from "#actors/ports/Keys.ts"
import type { Limits } from "#actors/limits/ports/Limits.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey, EndpointName } from "#schemas/records/ApiKey.ts"
import * as BearerKey from "#src/inference/lane/bearerKey.ts"
import { presentedKey } from "#src/inference/lane/InferenceCall.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import type { FileScope } from "./FileRecords.ts"

export interface FileCaller {
  readonly scope: FileScope
  /** The key that owns what the call makes; null for an operator without one. */
  readonly key: ApiKey | null
}

const operator: FileCaller = { scope: "all", key: null }
const byKey = (key: ApiKey): FileCaller => ({ scope: { keyId: key.id }, key })

const invalid = Errors.make("invalid_api_key", "The API key is not valid. Create one with POST /api/keys and send it as 'Authorization: Bearer <key>'.")

/**
 * The key that is presented, also where a browser's session comes with it; else an operator. `endpoint`: what a key's `allowedEndpoints`
 * calls it. A call without either is refused, whatever REQUIRE_API_KEY says.
 */
export const caller = (endpoint: EndpointName): Effect.Effect<FileCaller, PublicError | StoreError, ManagementCall | HttpServerRequest.HttpServerRequest | Keys | Limits | EnvironmentKeys> =>
  Effect.gen(function*() {
    const call = yield* ManagementCall
    const { kind } = call.caller
    if (kind === "token" || kind === "local") return operator
    const request = yield* HttpServerRequest.HttpServerRequest
    const keys = yield* Keys
    const raw = presentedKey({
      query: request.url.split("?", 2)[1] ?? "", header: (name) => request.headers[name], remoteAddress: Option.getOrElse(request.remoteAddress, () => "")
    })
    const permanent = raw === null || raw === "" ? undefined : (yield* EnvironmentKeys).get(keys.hash(raw))
    if (permanent !== undefined) return byKey(permanent)
    const presented = yield* BearerKey.presented(endpoint, yield* Clock.currentTimeMillis)
    if (presented === null) return kind === "session" ? operator : yield* Effect.fail(invalid)
    return "refused" in presented ? yield* Effect.fail(presented.error ?? invalid) : byKey(presented.key)
  })
