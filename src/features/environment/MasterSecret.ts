/** The master key that this process runs with. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as MasterKey from "#src/platform/secrets/MasterKey.ts"

export class MasterSecret extends Context.Service<MasterSecret, {
  /** Null while there is none. */
  readonly find: Effect.Effect<{ readonly current: Redacted.Redacted<string> } | null, MasterKey.MasterKeyError>
}>()("gateway/features/environment/MasterSecret") {}

export const layerOf = ({ dataDir, secret }: Values) => Layer.succeed(MasterSecret, MasterSecret.of({ find: MasterKey.find({ secret: secret ?? undefined, dataDir }) }))
