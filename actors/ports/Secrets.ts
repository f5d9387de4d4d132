/** Seals secrets at rest: AES-256-GCM under a key derived from GATEWAY_SECRET, with the key's id in the envelope for rotation. */
import * as Context from "effect/Context"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** A sealed value cannot be opened: wrong master key, or the record was altered. Names the key id, never the value. */
export class SealBroken extends Schema.TaggedError<SealBroken>()("SealBroken", {
  keyId: Schema.String,
  message: Schema.String
}) {}

export class Secrets extends Context.Service<Secrets, {
  /** `v1.<key id>.<iv>.<tag>.<ciphertext>`, base64url parts. `context` is authenticated with it (e.g. `connection:<id>:apiKey`). */
  readonly seal: (value: Redacted.Redacted<string>, context: string) => string
  /** Throws SealBroken. */
  readonly openUnsafe: (sealed: string, context: string) => Redacted.Redacted<string>
  readonly currentKeyId: string
  /** Of the current master secret and then of the former ones; nothing of a secret can be learned from it but whether it is the same. */
  readonly fingerprints: readonly [current: string, ...former: ReadonlyArray<string>]
  /** The file of the master secret, when this process made it because there was none. */
  readonly madeFile: string | null
  /** True when the envelope was made with another key than the current one. */
  readonly isStale: (sealed: string) => boolean
  /** HMAC-SHA256 under a key derived from the master secret for this purpose. */
  readonly mac: (purpose: string, value: string) => string
}>()("gateway/ports/Secrets") {}
