/** `gateway migrate`: brings the schema to this release, or says what is missing. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Migrations from "#src/Migrations.ts"
import { load, type Overrides } from "#src/cli/environment.ts"
import { exitCodes, Failure } from "#src/cli/Failure.ts"
import * as Records from "./records.ts"

const line = (mark: string, version: Migrations.Version): string => `  ${mark}  ${String(version.id).padStart(4, "0")} ${version.name}`

const render = (database: string, { applied, pending, unknown }: Migrations.Status): string => {
  const strange = new Set(unknown.map((version) => version.id))
  return [
    database,
    ...applied.filter((version) => !strange.has(version.id)).map((version) => line("applied", version)),
    ...unknown.map((version) => `${line("applied", version)} (by a newer release)`),
    ...pending.map((version) => line("pending", version)),
    `${applied.length} applied, ${pending.length} pending`
  ].join("\n")
}

const report = (database: string) => Effect.tap(Migrations.status, (status) => Console.log(render(database, status)))

export const migrate = (options: Overrides & { readonly status: boolean }) =>
  Effect.gen(function*() {
    const settings = yield* load(options)
    const database = Records.nameOf(settings)
    yield* Records.refuseWhileRunning(settings, "gateway migrate")
    yield* Effect.gen(function*() {
      if (!options.status) {
        const done = yield* Migrations.run
        yield* Console.log(done.length === 0 ? "Nothing to do." : `Applied ${done.length}.`)
        return yield* report(database)
      }
      const { pending } = yield* report(database)
      if (pending.length > 0) return yield* new Failure({ message: "", exitCode: exitCodes.failed })
    }).pipe(Effect.provide(Records.client(settings)))
  })
