/** `gateway doctor`: looks at everything a start needs, and says what to mend. Changes nothing. */
import * as path from "node:path"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { configFileVariables } from "#src/bootstrap/configFileVariables.ts"
import { type Environment, type Loaded, type Overrides, read, type Read } from "#src/cli/environment.ts"
import { exitCodes, Failure } from "#src/cli/Failure.ts"
import * as RunningGateway from "#src/cli/RunningGateway.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import * as Database from "./database.ts"
import { broken, type Finding, looking, note, ok, render } from "./Finding.ts"
import * as Journal from "./journal.ts"
import * as Machine from "./machine.ts"
import * as Named from "./named.ts"
import * as Network from "./network.ts"
import * as Policies from "./policies.ts"

const variableIn = (problem: string): string => /^[A-Z][A-Z0-9_]*/.exec(problem)?.[0] ?? ""

/** Decodes; with problems, decodes again without the variables they name, so that the other checks can still run. */
const settingsOf = (environment: Environment): { readonly findings: ReadonlyArray<Finding>; readonly settings: Loaded | null } => {
  const decoded = Settings.decode(environment)
  if (Result.isSuccess(decoded)) return { findings: [ok("settings", "every variable can be used")], settings: { ...decoded.success, environment } }
  const { problems } = decoded.failure
  const named = new Set(problems.map(variableIn))
  const rest = Settings.decode(Object.fromEntries(Object.entries(environment).filter(([name]) => !named.has(name))))
  return {
    findings: problems.map((problem) => broken("settings", problem, `Mend or unset ${variableIn(problem) || "it"}; docs/settings.md lists what each variable takes.`)),
    settings: Result.isSuccess(rest) ? { ...rest.success, environment } : null
  }
}

const dotenv = ({ file, hidden }: Read): ReadonlyArray<Finding> =>
  file === null ? [] : [note(".env", `${file} is read${hidden.length === 0 ? "" : `; the environment overrides its ${hidden.join(", ")}`}`)]

const examine = (found: Read) =>
  Effect.gen(function*() {
    const { findings, settings } = settingsOf(found.environment)
    const first = [Machine.nodeVersion(), ...dotenv(found), ...findings, ...Policies.variables(found.environment, Registry.builtin.all, settings === null ? new Set() : configFileVariables(settings))]
    if (settings === null) return first
    const running = RunningGateway.find(settings.dataDir)
    const machine = looking("data directory", () => Machine.check(settings))
    const database = yield* Database.check(settings, running)
    return [
      ...first,
      ...machine,
      ...yield* Effect.promise(() => Named.check(settings)),
      yield* Effect.promise(() => Network.port(settings, running)),
      ...database.findings,
      ...Database.sharing(settings),
      yield* Effect.promise(() => Network.redis(settings)),
      ...looking("journal", () => Journal.check(path.resolve(settings.dataDir), running)),
      Policies.flags(found.environment, database.flagOverrides),
      Network.exposure(settings, Policies.isOn("REQUIRE_API_KEY", found.environment, database.flagOverrides ?? new Map())),
      Policies.providers(found.environment, Registry.builtin.all, settings.simulator)
    ]
  })

export const doctor = (options: Overrides & { readonly json: boolean }) =>
  Effect.gen(function*() {
    const findings = yield* Effect.flatMap(read(options), examine)
    const isBroken = findings.some((finding) => finding.level === "broken")
    yield* Console.log(options.json ? JSON.stringify({ ok: !isBroken, findings }, null, 2) : render(findings))
    if (isBroken) return yield* new Failure({ message: "", exitCode: exitCodes.failed })
  })
