/** Keys that stand in the environment instead of the record store, by the hash of their secret. */
import * as Context from "effect/Context"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

export class EnvironmentKeys extends Context.Service<EnvironmentKeys, ReadonlyMap<string, ApiKey>>()("gateway/ports/EnvironmentKeys") {}
