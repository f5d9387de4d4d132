/** Runtime feature flags: database override, else environment, else default; read synchronously everywhere. */
import * as Context from "effect/Context"
import type { FlagKey, FlagSource } from "#schemas/flagCatalogue.ts"

export class Flags extends Context.Service<Flags, {
  /** Effective value of a boolean flag: `true`, `1` or `yes`. */
  readonly isOn: (key: FlagKey) => boolean
  readonly value: (key: FlagKey) => string
  readonly source: (key: FlagKey) => FlagSource
}>()("gateway/ports/Flags") {}
