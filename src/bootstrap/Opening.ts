/** What happens once, behind the last tier: records are put in place, the door opens, and the banner says so. */
import * as Path from "node:path"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { version } from "#schemas/version.ts"
import * as Worker from "#src/platform/cluster/workers/Worker.ts"
import { urlOf } from "#src/platform/configuration/address.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as Registry from "#src/providers/Registry.ts"
import { ConfigFile } from "#src/features/configFile/ports/ConfigFile.ts"
import { DashboardFiles } from "#src/features/dashboard/ports/DashboardFiles.ts"
import { banner } from "./banner.ts"
import * as FirstRun from "./FirstRun.ts"
import { LifecycleControl } from "./NodeLifecycle.ts"
import { configFileVariables } from "./configFileVariables.ts"
import { describe, unknownVariables } from "./unknownVariables.ts"

/** `compact` runs when all is loaded. */
export const layerOf = (settings: Settings["Service"], compact: Effect.Effect<void>) => Layer.effectDiscard(Effect.gen(function*() {
  const control = yield* LifecycleControl
  const front = yield* FrontEnd
  const flags = yield* Flags
  const configuration = yield* Configuration
  const dashboard = yield* DashboardFiles
  control.markMigrated()
  // The hash of a first password takes 32 MB for a moment, and what the start left behind shall not stand beside it.
  yield* compact
  const password = yield* FirstRun.ensurePassword(settings.initialPassword)
  yield* FirstRun.importProviderKeys(settings.environment, Registry.builtin.all)
  yield* (yield* ConfigFile).apply
  front.onDrain(control.markDraining)
  control.markReady()
  yield* front.open
  const text = banner({
    url: urlOf(settings, front.port),
    dashboard: !dashboard.isOn ? "off" : (yield* dashboard.isReady) ? "ready" : "not built",
    version,
    password: password === null ? null : Redacted.value(password),
    model: configuration.current().simulatorUrl === null ? null : "sim/echo",
    requireApiKey: flags.isOn("REQUIRE_API_KEY"),
    loopback: settings.host === "localhost" || settings.host === "::1" || settings.host.startsWith("127."),
    records: settings.databaseUrl === null ? `embedded Postgres in ${Path.resolve(settings.dataDir)}` : "Postgres server",
    unknownVariables: unknownVariables(settings.environment, Registry.builtin.all, configFileVariables(settings)).map(describe),
    workers: settings.workers
  })
  // One of several workers reports it to its supervisor, which logs it once.
  yield* settings.worker === 0 ? Console.log(text) : Worker.ready(text)
}))
