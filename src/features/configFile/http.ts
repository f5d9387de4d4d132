import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"
import * as Surface from "#src/management/Surface.ts"
import { ConfigFileGroup } from "./api.ts"
import * as Exporting from "./exporting.ts"
import { kinds } from "./kinds.ts"
import { ConfigFile } from "./ports/ConfigFile.ts"

export const layer = HttpApiBuilder.group(Surface.make(ConfigFileGroup), "configFile", Effect.fn(function*(handlers) {
  const configFile = yield* ConfigFile
  const innerOf = yield* InnerApi.make

  const exported = Effect.gen(function*() {
    // The caller's rights were asked at the door; flags, which a session reads, are part of the file.
    const inner = innerOf({ key: null, acts: { kind: "local" } })
    const records = yield* Effect.forEach(kinds, (kind) => Effect.map(kind.list(inner), (all) => [kind.kind, all] as const))
    return yield* Effect.promise(() => Exporting.toFile(new Map(records)))
  })

  return handlers.handleAll({
    report: () => Effect.sync(() => ({ file: configFile.path, last: configFile.last() })),
    export: () => Effect.mapError(exported, ({ message }) => Refusal.unavailable(message))
  })
}))
