import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as Surface from "#src/management/Surface.ts"
import * as TextFile from "#src/platform/files/TextFile.ts"
import { environmentVariable } from "#src/routing/oneShotPlaces.ts"
import { EnvironmentGroup } from "./api.ts"
import { EnvFile } from "./EnvFile.ts"
import { MasterSecret } from "./MasterSecret.ts"
import * as Repair from "./repair.ts"

/** Copies of the file; the oldest go first. */
const BACKUPS_MAX = 20
const masterKey = "GATEWAY_SECRET"

const refused = ({ message, reason }: TextFile.TextFileError): Refusal.Refusal => reason === "changed" ? Refusal.conflict(message) : Refusal.unprocessable(message)

/** Beside the file: it holds secrets, as the file does. */
const keep = async (file: TextFile.TextFile, text: string, at: number): Promise<string> => {
  const prefix = `${path.basename(file.path)}.backup-`
  const directory = path.dirname(file.path)
  const name = `${prefix}${TextFile.idAt(at)}`
  const handle = await fs.open(path.join(directory, name), "wx", TextFile.NEW_MODE)
  await handle.writeFile(text).then(() => handle.sync()).finally(() => handle.close())
  const known = (await fs.readdir(directory)).filter((one) => one.startsWith(prefix) && /^\d{8}T\d{9}Z$/.test(one.slice(prefix.length))).sort()
  for (const old of known.slice(0, Math.max(0, known.length - BACKUPS_MAX))) await fs.rm(path.join(directory, old), { force: true })
  return path.join(directory, name)
}

export const layer = HttpApiBuilder.group(Surface.make(EnvironmentGroup), "environment", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const secret = yield* MasterSecret
  const envFile = yield* EnvFile

  /** What the gateway runs with: the master key, and the keys of connections that were made from variables. */
  const inUse = Effect.fnUntraced(function*(provider: string) {
    const snapshot = configuration.current()
    const id = knownProvider(snapshot, provider)
    if (id === null) return yield* Effect.fail(Refusal.invalidField("provider", "No provider has this id: see GET /api/providers"))
    const master = yield* Effect.mapError(secret.find, ({ message }) => Refusal.unprocessable(message))
    const values = new Map<string, Redacted.Redacted<string>>(master === null ? [] : [[masterKey, master.current]])
    for (const { apiKey, provider: own, providerSpecificData } of snapshot.connections) {
      const name = providerSpecificData[environmentVariable]
      if (own === id && apiKey !== null && typeof name === "string" && /^\w+$/.test(name)) values.set(name, apiKey)
    }
    return values
  })

  const repair = Effect.fn("Environment.repair")(function*(provider: string) {
    const values = yield* inUse(provider)
    const file = yield* TextFile.attempt(envFile.path, "unreadable", () => TextFile.read(envFile.path))
    const before = file.text ?? ""
    const repaired: Array<string> = []
    let text = before
    for (const [name, value] of values) {
      if ((envFile.process[name] ?? "") !== "" || Repair.isSet(before, name)) continue
      const after = Repair.withVariable(text, name, Redacted.value(value))
      if (after === null) return yield* Effect.fail(Refusal.unprocessable(`${envFile.path} cannot hold ${name} beside what it says; nothing was written: set the variable by hand`))
      text = after
      repaired.push(name)
    }
    if (repaired.length === 0) return { success: true as const, repaired, backupPath: null }
    const at = yield* Clock.currentTimeMillis
    const backupPath = yield* TextFile.attempt(envFile.path, "not_writable", async () => {
      const kept = file.text === null ? null : await keep(file, file.text, at)
      await TextFile.replace(envFile.path, text, TextFile.NEW_MODE, file.text)
      return kept
    })
    yield* audit.note({ action: "environment.repaired", target: provider, resourceType: "environment", details: { repaired, backupPath } })
    return { success: true as const, repaired, backupPath }
  })

  return handlers.handleAll({
    repair: ({ payload }) => answer(repair(payload.provider).pipe(Effect.catchTag("TextFileError", (error) => Effect.fail(refused(error)))))
  })
}))
