/**
 * The fingerprint of the master secret, beside the records that it seals. The first node stores it; a node with another secret would
 * seal what the others cannot open, so it refuses to start.
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import * as MasterKey from "./MasterKey.ts"

const kind = "cluster"
const key = "masterSecret"

/** Why these fingerprints may not use the records that hold this one; null when one of them made it. `lost`: the file that should have been there. */
export const refusal = (stored: unknown, fingerprints: ReadonlyArray<string>, lost: string | null): MasterKey.MasterKeyError | null =>
  fingerprints.some((own) => own === stored) ? null : new MasterKey.MasterKeyError({
    reason: "another-secret",
    message: lost === null
      ? "The records of this database were sealed with another master secret. Set GATEWAY_SECRET to the one that its other nodes have "
        + "(without the variable it stands in secret.key in their data directory). To change it, put the old one into GATEWAY_SECRET_PREVIOUS, "
        + "start, and run `gateway rekey`."
      : `The records of this database were sealed with a master secret that is not here: GATEWAY_SECRET is not set, and there was no ${lost}. `
        + "Restore that file from a backup or from another node's data directory, or set GATEWAY_SECRET to the secret it held."
  })

/** Fails when the records belong to a master secret that is neither the current one nor a former one. A file that was made for them in vain is removed. */
export const check = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const { fingerprints, madeFile } = yield* Secrets
  // Records from before there was a fingerprint say by themselves whether they can be opened.
  if ((yield* documents.get(kind, key)) === undefined) yield* (yield* ConnectionStore).list
  const refused = refusal(yield* documents.putIfAbsent(kind, key, fingerprints[0]), fingerprints, madeFile)
  if (refused === null) return
  if (madeFile !== null) yield* Effect.sync(() => fs.rmSync(madeFile, { force: true }))
  return yield* refused
})

/** What the records say of the secret that sealed them; null before the first start. */
export const stored = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly value: unknown }>`SELECT value FROM documents WHERE kind = ${kind} AND key = ${key}`
  return row?.value ?? null
})

/** Stores the current secret's fingerprint, once everything is sealed with it. */
export const renew = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const { fingerprints } = yield* Secrets
  yield* documents.put(kind, key, fingerprints[0])
})

/** Built only where the check passes. */
export const layer = Layer.effectDiscard(check)
