/** The API key that a call of the client surface presents, on the effect lane: admitted like any inference call. */
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import { Keys } from "#actors/ports/Keys.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ApiKey, EndpointName } from "#schemas/records/ApiKey.ts"
import type { PublicError } from "#schemas/errors.ts"
import { presentedKey } from "./InferenceCall.ts"
import * as Issuers from "./issuers.ts"
import * as KeyPolicy from "#actors/keys/keyPolicy.ts"

/** Longest key that is looked at, characters. */
const longest = 512

/** Null: none was presented. `refused`: it is none, or may not be used now, for which `error` is the reason. */
export type Presented = { readonly key: ApiKey } | { readonly refused: true; readonly error: PublicError | null }

/** `endpoint`: what a key's `allowedEndpoints` calls it; null = every key may. */
export const presented = (endpoint: EndpointName | null, now: number): Effect.Effect<Presented | null, StoreError, Keys | Limits | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const keys = yield* Keys
    const limits = yield* Limits
    const raw = presentedKey({
      query: request.url.split("?", 2)[1] ?? "",
      header: (name) => request.headers[name],
      remoteAddress: Option.getOrElse(request.remoteAddress, () => "")
    })
    if (raw === null) return null
    if (raw === "" || raw.length > longest) return { refused: true, error: null } as const
    const hash = keys.hash(raw)
    const known = keys.peek(hash)
    const key = known === undefined ? yield* keys.find(hash) : known
    if (key === null) return { refused: true, error: null } as const
    const peer = { remoteAddress: Option.getOrElse(request.remoteAddress, () => "") }
    const name = endpoint ?? key.policy.allowedEndpoints[0] ?? ""
    const error = KeyPolicy.admit(key, name, peer, now) ??
      (key.issuerId === null ? null : KeyPolicy.admitIssued(Issuers.of(key, limits), name, peer, now))
    if (error !== null) return { refused: true, error } as const
    keys.touch(key)
    return { key } as const
  })
