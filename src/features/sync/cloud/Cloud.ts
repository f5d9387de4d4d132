/** Following another gateway: its bundle is asked for, and what it declares becomes records here. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { ConfigFile } from "#src/features/configFile/ports/ConfigFile.ts"
import type { CloudStatus } from "#src/features/sync/api.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as ControlCalls from "#src/platform/upstream/egress/ControlCalls.ts"
import * as BundleCalls from "./BundleCalls.ts"

/** Documents that say how the last synchronisation went. */
export const KIND = "cloud-sync"
const KEY = "last"
/** Documents of this kind are sealed by their store. */
const SECRET_KIND = "secret"
const SECRET_KEY = "cloudSyncToken"
const SETTING = "setting"
/** Refused entries that are kept of one synchronisation. */
const REFUSED_MAX = 200

const Refused = Schema.Struct({ kind: Schema.String, name: Schema.String, message: Schema.String })
const Last = Schema.Struct({
  address: Schema.String,
  /** Of the bundle that was applied, and when it was applied or found unchanged; null before. */
  version: Schema.NullOr(Schema.String),
  at: Schema.NullOr(Schema.String),
  /** Why the newest try failed. */
  error: Schema.NullOr(Schema.String),
  refused: Schema.Array(Refused)
})
type Last = typeof Last.Type
const decodeLast = Schema.decodeUnknownOption(Last)

/** A token goes to the origin only that it was given for. */
const Stored = Schema.Struct({ origin: Schema.String, token: Schema.String })
const decodeStored = Schema.decodeUnknownOption(Schema.fromJsonString(Stored))

interface Remote {
  readonly address: string
  readonly token: Redacted.Redacted<string>
}

const disabled = Refusal.conflict("Synchronisation is off: enable it first", { code: "sync_disabled" })

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configFile = yield* ConfigFile
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const calls = BundleCalls.make(yield* ControlCalls.make, yield* UrlGuard)
  const one = yield* Semaphore.make(1)

  const isEnabled = (): boolean => configuration.current().settings.get("cloudEnabled") === true
  const address = (): string | null => {
    const url = configuration.current().settings.get("cloudUrl")
    return typeof url === "string" && url !== "" ? url.replace(/\/+$/, "") : null
  }
  const last = Effect.map(documents.get(KIND, KEY), (value) => Option.getOrNull(decodeLast(value)))
  const keep = (next: Last) => documents.put(KIND, KEY, next)
  const stored = Effect.map(documents.get(SECRET_KIND, SECRET_KEY), (value) => Option.getOrNull(decodeStored(value)))

  const status = Effect.gen(function*() {
    const known = yield* last
    const url = address()
    const token = yield* stored
    const own = known !== null && known.address === url ? known : null
    const view: CloudStatus = {
      enabled: isEnabled(),
      connected: isEnabled() && own !== null && own.error === null && own.at !== null,
      lastSync: own?.at ?? null,
      cloudUrl: url,
      hasToken: token !== null && url !== null && token.origin === URL.parse(url)?.origin,
      version: own?.version ?? null,
      lastError: own?.error ?? null,
      refused: own?.refused ?? []
    }
    return view
  })

  /** Where to, and with what; `given`: a token of this call. */
  const remote = Effect.fnUntraced(function*(given: string | undefined) {
    const url = address()
    const origin = url === null ? undefined : URL.parse(url)?.origin
    if (url === null || origin === undefined) {
      return yield* Effect.fail(Refusal.badRequest("Set the setting cloudUrl to the address of the gateway to follow", { code: "cloud_url_missing" }))
    }
    if (configFile.path !== null) {
      return yield* Effect.fail(Refusal.conflict(`The configuration file ${configFile.path} declares the records of this gateway; it follows no other`))
    }
    const known = yield* stored
    const token = given ?? (known?.origin === origin ? known.token : undefined)
    if (token === undefined) return yield* Effect.fail(Refusal.invalidField("token", `A sync token of ${url} is needed: POST /api/sync/tokens makes one there`))
    return { address: url, token: Redacted.make(token) } as Remote
  })

  const pull = Effect.fn("Cloud.pull")(function*({ address: from, token }: Remote) {
    const before = yield* last
    const own = before !== null && before.address === from ? before : null
    const failedWith = (error: string) => keep({ address: from, version: own?.version ?? null, at: own?.at ?? null, refused: own?.refused ?? [], error })
    // What was refused may be possible by now, although the bundle is the same.
    const known = own !== null && own.error === null && own.refused.length === 0 ? own.version : null
    const bundle = yield* Effect.tapError(calls.ask(from, token, known), ({ error }) => failedWith(error.message))
    const at = new Date(yield* Clock.currentTimeMillis).toISOString()
    if (bundle === null) {
      yield* keep({ address: from, version: known, at, error: null, refused: [] })
      return { version: known, changes: 0, refused: 0 }
    }
    const { entries } = yield* configFile.follow(from, bundle.config).pipe(
      Effect.catchTag("ConfigFileError", ({ message }) => Effect.andThen(failedWith(message), Effect.fail(Refusal.unprocessable(message, { code: "sync_refused" }))))
    )
    const refused = entries.flatMap(({ kind, message, name }) => message === null ? [] : [{ kind, name, message }])
    yield* keep({ address: from, version: bundle.version, at, error: null, refused: refused.slice(0, REFUSED_MAX) })
    return { version: bundle.version, changes: entries.filter(({ action }) => action !== "unchanged" && action !== "refused").length, refused: refused.length }
  })

  const note = (action: string, details: Readonly<Record<string, Schema.Json>>) => audit.note({ action, resourceType: "sync", details })
  const synced = (to: Remote) => Effect.tap(pull(to), (done) => note("sync.cloud.synced", { cloudUrl: to.address, ...done }))
  const inTurn = Semaphore.withPermits(one, 1)

  return {
    status,
    /** The first synchronisation must succeed, else nothing is switched on. */
    enable: (token: string | undefined) => inTurn(Effect.gen(function*() {
      const to = yield* remote(token)
      yield* synced(to)
      yield* documents.put(SECRET_KIND, SECRET_KEY, JSON.stringify({ origin: new URL(to.address).origin, token: Redacted.value(to.token) }))
      yield* configuration.commit(documents.put(SETTING, "cloudEnabled", true))
      yield* note("sync.cloud.enabled", { cloudUrl: to.address })
    })),
    sync: inTurn(Effect.suspend(() => isEnabled() ? Effect.flatMap(remote(undefined), synced) : Effect.fail(disabled))),
    /** Records stay and may be changed here again; the token is forgotten. */
    disable: inTurn(Effect.gen(function*() {
      yield* configuration.commit(documents.remove(SETTING, "cloudEnabled"))
      yield* documents.remove(SECRET_KIND, SECRET_KEY)
      yield* documents.remove(KIND, KEY)
      const released = yield* Effect.mapError(configFile.unfollow, ({ message }) => Refusal.unavailable(message))
      yield* note("sync.cloud.disabled", { released })
    }))
  }
})
