/** What the kit asks of its process: what the operator set, and the count of attempts to sign in. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { schemeOf } from "#src/platform/configuration/address.ts"
import { nodeIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as MemoryLoginAttempts from "./authentication/brake/MemoryLoginAttempts.ts"
import { ManagementOptions } from "./ManagementOptions.ts"

const options = (settings: Values) => Layer.effect(ManagementOptions, Effect.map(FrontEnd, ({ port }) => ({
  machineId: nodeIdOf(settings),
  jwtSecret: settings.jwtSecret,
  cookieSecure: settings.secureCookie === "true",
  initialPassword: settings.initialPassword,
  publicUrl: settings.publicUrl?.replace(/\/+$/, "") ?? `${schemeOf(settings)}://localhost:${port}`,
  port,
  lookUpMs: settings.lookUpMs,
  modelListsEveryMs: settings.modelListsEveryMs
})))

/** Attempts to sign in: counted here alone, or with the other nodes. */
const loginAttempts = (settings: Values) =>
  orShared(settings, MemoryLoginAttempts.layer, async () => (await import("./authentication/brake/RedisLoginAttempts.ts")).layer)

export const layerOf = (settings: Values) => Layer.merge(options(settings), loginAttempts(settings))
