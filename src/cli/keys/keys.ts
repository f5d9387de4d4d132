/** `gateway keys create | list | revoke`. */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type { PolicyInput } from "#src/features/keys/api.ts"
import { load, type Loaded, type Overrides } from "#src/cli/environment.ts"
import { failure } from "#src/cli/Failure.ts"
import * as Records from "#src/cli/commands/records.ts"
import * as RunningGateway from "#src/cli/RunningGateway.ts"
import * as Table from "#src/cli/terminal/table.ts"
import type { KeyDesk, Listed } from "./KeyDesk.ts"

/** Keys of one question. */
const pageKeys = 1000

/** A running gateway is asked, so that a change holds at once; else the stores are opened. */
const withDesk = <A, E>(settings: Loaded, use: (desk: KeyDesk) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const running = RunningGateway.find(settings.dataDir)
    if (running === null || running.url === null) {
      yield* Records.refuseWhileRunning(settings, "gateway keys")
      const { withStoredKeys } = yield* Effect.promise(() => import("./storedKeys.ts"))
      return yield* withStoredKeys(settings, use)
    }
    const remote = yield* Effect.promise(() => import("./remoteKeys.ts"))
    const { url } = running
    const desk = yield* remote.make(settings, url)
    yield* Console.error(`(asking the gateway at ${url}, process ${running.pid})`)
    return yield* use(desk)
  })

/** Every key, newest first; one that moves to the next page meanwhile counts once. */
const everyKey = Effect.fnUntraced(function*(desk: KeyDesk) {
  const found = new Map<string, Listed>()
  for (let offset = 0;; offset += pageKeys) {
    const page = yield* desk.list(pageKeys, offset)
    for (const key of page) found.set(key.id, key)
    if (page.length < pageKeys) return Array.from(found.values())
  }
})

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `30d`, `12h`, `45m`, or an ISO 8601 time. */
const expiryOf = (text: string, now: number) => {
  const match = /^(\d{1,6})([mhd])$/.exec(text)
  const at = match === null ? Date.parse(text) : now + Number(match[1]) * units[match[2] as keyof typeof units]
  return Number.isNaN(at)
    ? Effect.fail(failure(`--expires '${text}' is neither a time span (45m, 12h, 30d) nor an ISO 8601 time.`))
    : Effect.succeed(new Date(at).toISOString())
}

export interface CreateOptions extends Overrides {
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly models: ReadonlyArray<string>
  readonly expires: string | undefined
  readonly json: boolean
}

export const create = (options: CreateOptions) =>
  Effect.gen(function*() {
    const settings = yield* load(options)
    const now = yield* Clock.currentTimeMillis
    const policy: PolicyInput = {
      ...(options.scopes.length === 0 ? {} : { scopes: options.scopes }),
      ...(options.models.length === 0 ? {} : { allowedModels: options.models }),
      ...(options.expires === undefined ? {} : { expiresAt: yield* expiryOf(options.expires, now) })
    }
    const made = yield* withDesk(settings, (desk) => desk.create(options.name, policy))
    yield* Console.log(options.json
      ? JSON.stringify(made)
      : `${made.key}\n\nKey '${made.name}' (id ${made.id}). Its value is shown only this once.`)
  })

const row = (key: Listed): string =>
  [key.id, key.key, key.name, key.isActive ? "active" : "off", key.scopes.join(","), key.expiresAt ?? "never", key.lastUsedAt ?? "never"].join("  ")

export const list = (options: Overrides & { readonly json: boolean }) =>
  Effect.gen(function*() {
    const settings = yield* load(options)
    const keys = yield* withDesk(settings, everyKey)
    const total = keys.length
    if (options.json) return yield* Console.log(JSON.stringify({ keys, total }))
    const table = Table.render(
      [{ title: "name" }, { title: "key" }, { title: "state" }, { title: "scopes" }, { title: "expires" }, { title: "last used" }, { title: "id" }],
      keys.map((key) => [
        key.name, key.key, key.isActive ? { text: "active", mood: "good" } : { text: "off", mood: "dim" }, key.scopes.join(","),
        key.expiresAt ?? "never", key.lastUsedAt ?? "never", { text: key.id, mood: "dim" }
      ]),
      Table.isColoured(process.env, process.stdout.isTTY)
    )
    yield* Console.log(`${table}\n${total} key${total === 1 ? "" : "s"}`)
  })

export const revoke = (options: Overrides & { readonly key: string }) =>
  Effect.gen(function*() {
    const settings = yield* load(options)
    const removed = yield* withDesk(settings, (desk) => Effect.gen(function*() {
      const keys = yield* everyKey(desk)
      const byId = keys.find((key) => key.id === options.key)
      const found = byId === undefined ? keys.filter((key) => key.name === options.key) : [byId]
      const [only] = found
      if (only === undefined) return yield* failure(`No key has the id or name '${options.key}'; \`gateway keys list\` shows them.`)
      if (found.length > 1) return yield* failure(`${found.length} keys are named '${options.key}'; name one by its id:\n${found.map(row).join("\n")}`)
      yield* desk.remove(only.id)
      return only
    }))
    yield* Console.log(`Key '${removed.name}' (${removed.key}, id ${removed.id}) is revoked.`)
  })
