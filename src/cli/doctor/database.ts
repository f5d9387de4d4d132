/** The database: which process holds it, whether it answers, and the state of its schema. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import type { Loaded } from "#src/cli/environment.ts"
import { explain } from "#src/cli/Failure.ts"
import * as LocalHttp from "#src/cli/LocalHttp.ts"
import * as Records from "#src/cli/commands/records.ts"
import type { RunningGateway } from "#src/cli/RunningGateway.ts"
import * as Migrations from "#src/Migrations.ts"
import * as Fingerprint from "#src/platform/secrets/Fingerprint.ts"
import * as MasterKey from "#src/platform/secrets/MasterKey.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as Pglite from "#src/platform/postgres/pglite/Pglite.ts"
import { broken, type Finding, note, ok, warning } from "./Finding.ts"

export interface Seen {
  readonly findings: ReadonlyArray<Finding>
  /** Flags set in the database; null when it could not be read. */
  readonly flagOverrides: ReadonlyMap<string, unknown> | null
}

const none: ReadonlyMap<string, unknown> = new Map()

const migrations = ({ applied, pending, unknown }: Migrations.Status): Finding => {
  const names = pending.map((version) => version.name).join(", ")
  if (unknown.length > 0) {
    return broken("migrations", `${unknown.length} applied by a newer release: ${unknown.map((version) => version.name).join(", ")}`,
      "Start the newer release, or restore a backup from before it.")
  }
  if (pending.length === 0) return ok("migrations", `${applied.length} applied, none pending`)
  return note("migrations", `${pending.length} pending: ${names}`, "The next start applies them; `gateway migrate` does it now.")
}

const overrides = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly key: string; readonly value: unknown }>`SELECT key, value FROM documents WHERE kind = 'flag'`
  return new Map(rows.map((row) => [row.key, row.value]))
})

const Listed = Schema.Struct({
  flags: Schema.Array(Schema.Struct({ key: Schema.String, effectiveValue: Schema.String, source: Schema.String }))
})

/** What a running gateway says of its flags, because no other process may open its database; null when it does not answer. */
const overridesAt = (settings: Loaded, url: string) =>
  Effect.gen(function*() {
    const call = yield* LocalHttp.make(settings, url)
    const { flags } = yield* Schema.decodeUnknownEffect(Listed)(yield* call("GET", "/api/settings/feature-flags"))
    return new Map<string, unknown>(flags.filter((flag) => flag.source === "db").map((flag) => [flag.key, flag.effectiveValue]))
  }).pipe(Effect.orElseSucceed(() => null))

/** What a start says of a master secret that did not seal these records. A secret that cannot be used is told elsewhere. */
const otherSecret = (settings: Loaded) =>
  Effect.gen(function*() {
    const stored = yield* Fingerprint.stored
    if (stored === null) return []
    const keys = yield* MasterKey.find(Sealer.optionsOf(settings))
    const refused = Fingerprint.refusal(stored, keys === null ? [] : Sealer.fingerprintsOf(keys), keys === null ? MasterKey.fileIn(settings.dataDir) : null)
    if (refused === null) return []
    const [text = "", ...mend] = refused.message.split(/(?<=\.) (?=Restore|Set)/)
    return [broken("master key", text, mend.join(" "))]
  }).pipe(Effect.catchTag("MasterKeyError", () => Effect.succeed([])))

const looks = (settings: Loaded, name: string) =>
  Effect.gen(function*() {
    const status = yield* Migrations.status
    const isNew = status.applied.length === 0
    const flagOverrides = isNew ? none : yield* overrides
    const secret = isNew ? [] : yield* otherSecret(settings)
    return { findings: [ok("database", `${name} answers`), ...secret, migrations(status)], flagOverrides } satisfies Seen
  })

/** Opens what can be opened: never a directory that does not exist yet, never one that another process holds. */
export const check = (settings: Loaded, running: RunningGateway | null) =>
  Effect.gen(function*() {
    const name = Records.nameOf(settings)
    if (settings.databaseUrl === null) {
      if (running !== null) {
        return {
          findings: [note("database", `${name} is in use by process ${running.pid}${running.url === null ? "" : `, a gateway at ${running.url}`}`)],
          flagOverrides: running.url === null ? null : yield* overridesAt(settings, running.url)
        } satisfies Seen
      }
      // What cannot be read is told by opening it.
      const state = yield* Effect.try(() => Pglite.stateOf(Pglite.directoryIn(settings.dataDir))).pipe(Effect.orElseSucceed(() => "whole" as const))
      if (state === "empty") return { findings: [note("database", `${name} does not exist yet; the first start makes it`)], flagOverrides: none } satisfies Seen
      // Opened, it would be moved aside.
      if (state === "unfinished") {
        return {
          findings: [warning("database", `${name} is not complete; the next start moves it aside and begins with an empty one`, "If it came from a backup, restore all of it first.")],
          flagOverrides: null
        } satisfies Seen
      }
    }
    const exit = yield* Effect.exit(Effect.provide(looks(settings, name), Records.client(settings)))
    if (Exit.isSuccess(exit)) return exit.value
    const [text = "", ...mend] = explain(exit.cause).text.split("\n")
    return {
      findings: [broken("database", text, mend.join("\n") || "Mend what is named above, then look again.")],
      flagOverrides: null
    } satisfies Seen
  })

/** Several nodes need more than one machine's defaults. */
export const sharing = (settings: Loaded): ReadonlyArray<Finding> =>
  settings.redisUrl !== null && settings.databaseUrl === null
    ? [warning("database", "REDIS_URL is set and DATABASE_URL is not: the records stay in this machine's embedded database", "Set DATABASE_URL as well before a second node starts.")]
    : []
