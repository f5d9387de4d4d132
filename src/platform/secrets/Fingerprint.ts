/**
 * The fingerprint of the master secret, beside the records that it seals. The first node stores it; a node with another secret would
 * seal what the others cannot open, so it refuses to start.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import * as MasterKey from "./MasterKey.ts"

const kind = "cluster"
const key = "masterSecret"

/** Fails when the records belong to a master secret that is neither the current one nor a former one. */
export const check = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const { fingerprints } = yield* Secrets
  // Records from before there was a fingerprint say by themselves whether they can be opened.
  if ((yield* documents.get(kind, key)) === undefined) yield* (yield* ConnectionStore).list
  const stored = yield* documents.putIfAbsent(kind, key, fingerprints[0])
  if (fingerprints.some((own) => own === stored)) return
  return yield* new MasterKey.MasterKeyError({
    reason: "another-secret",
    message: "The records of this database were sealed with another master secret. Set GATEWAY_SECRET to the one that its other nodes have "
      + "(without the variable it stands in secret.key in their data directory). To change it, put the old one into GATEWAY_SECRET_PREVIOUS, "
      + "start, and run `gateway rekey`."
  })
})

/** Stores the current secret's fingerprint, once everything is sealed with it. */
export const renew = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const { fingerprints } = yield* Secrets
  yield* documents.put(kind, key, fingerprints[0])
})

/** Built only where the check passes. */
export const layer = Layer.effectDiscard(check)
