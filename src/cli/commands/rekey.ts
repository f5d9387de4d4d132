/** `gateway rekey`: seals every stored secret with the current master key. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import * as Fingerprint from "#src/platform/secrets/Fingerprint.ts"
import * as MasterKey from "#src/platform/secrets/MasterKey.ts"
import { load, type Overrides } from "#src/cli/environment.ts"
import * as LocalAudit from "#src/cli/LocalAudit.ts"
import * as Records from "./records.ts"

export const rekey = (options: Overrides) =>
  Effect.gen(function*() {
    const settings = yield* load(options)
    yield* Records.refuseWhileRunning(settings, "gateway rekey")
    yield* Effect.gen(function*() {
      const store = yield* ConnectionStore
      const { currentKeyId } = yield* Secrets
      const count = yield* store.reseal
      yield* Fingerprint.renew
      yield* LocalAudit.note({ action: "secrets.rekeyed", target: null, resourceType: "secret", details: { records: count, keyId: currentKeyId } })
      yield* Console.log(`${count} record${count === 1 ? "" : "s"} sealed anew; all are under key ${currentKeyId} now.`)
      if (settings.previousSecrets !== null) yield* Console.log("Every node runs with the new GATEWAY_SECRET? Then GATEWAY_SECRET_PREVIOUS can go.")
      else if (settings.secret !== null) yield* Console.log(`Set from GATEWAY_SECRET; a key file ${MasterKey.fileIn(settings.dataDir)} is no longer needed, except to read old backups.`)
    }).pipe(Effect.provide(Records.stores(settings)))
  })
