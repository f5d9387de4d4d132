/** A node that runs placed work and prints what it begins and ends; arguments: database, id, names of the work. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Placement } from "#actors/ports/Placement.ts"
import * as ShardedPlacement from "#src/platform/cluster/ShardedPlacement.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"

const [database = "", id = "", names = ""] = process.argv.slice(2)
const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const program = Effect.gen(function*() {
  const placement = yield* Placement
  for (const name of names.split(",")) {
    yield* placement.place(name, Effect.onInterrupt(Effect.andThen(say(`begin ${name}`), Effect.never), () => say(`end ${name}`)))
  }
  yield* Effect.never
}).pipe(
  Effect.scoped,
  Effect.provide(ShardedPlacement.layer(id).pipe(Layer.provide(PostgresClient.layer({ url: Redacted.make(database), poolSize: 3 }))))
)
const fiber = Effect.runFork(program)
process.on("SIGTERM", () => {
  fiber.addObserver(() => process.exit(0))
  fiber.interruptUnsafe()
})
