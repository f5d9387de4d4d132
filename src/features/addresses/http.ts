import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as AddressRules from "#actors/keys/addressRules.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { type CallFacts, ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { type AddressFilter, settingKey } from "#schemas/AddressFilter.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Addresses from "#src/platform/gate/addresses.ts"
import { AddressesGroup, type AddressFilterChange, type AddressFilterView } from "./api.ts"
import { changed, excessOf, issuesOf } from "./change.ts"

const KIND = "setting"

const iso = (ms: number): string => new Date(ms).toISOString()

const viewOf = (filter: AddressFilter, now: number): AddressFilterView => ({
  ...filter,
  tempBans: filter.tempBans.filter(({ until }) => until > now).map(({ ip, reason, until }) => ({ ip, until: iso(until), reason, remainingMs: until - now }))
})

/** What the caller would have locked itself out with; null when it is served afterwards, too. */
const lockOut = (filter: AddressFilter, { caller, ip, loopback }: CallFacts, now: number): Refusal.FieldIssue | null => {
  if (loopback || caller.kind === "local") return null
  const refused = Addresses.refusedBy(AddressRules.compile(filter), ip ?? "", now)
  switch (refused?.reason) {
    case undefined:
      return null
    case "unknown":
      return { field: "enabled", message: "Your own address is not known to the gateway, so the filter would refuse you: name the proxy in GATEWAY_TRUSTED_PROXIES, or make the change on the gateway's own machine" }
    case "banned":
      return { field: "tempBan.ip", message: `This would refuse your own address ${ip}: make the change from another one, or on the gateway's own machine` }
    default:
      return { field: refused!.reason, message: `This would refuse your own address ${ip}: ${refused?.reason === "whitelist" ? "add it to the whitelist" : "take it out of the blacklist"}, or make the change on the gateway's own machine` }
  }
}

export const layer = HttpApiBuilder.group(Surface.make(AddressesGroup), "addresses", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore

  const stored = (): AddressFilter => Addresses.storedIn(configuration.current().settings)
  const view = Effect.map(Clock.currentTimeMillis, (now) => viewOf(stored(), now))

  const put = Effect.fn("Addresses.put")(function*(change: AddressFilterChange) {
    const names = Object.keys(change)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    const issues = issuesOf(change)
    if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
    const call = yield* ManagementCall
    const next = yield* configuration.commit(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      // Read again under the writer's lock: two changes at once must both stand.
      const filter = changed(stored(), change, now)
      const lock = lockOut(filter, call, now)
      const wrong = lock === null ? excessOf(filter) : [lock]
      if (wrong.length > 0) return yield* Effect.fail(Refusal.invalidFields(wrong))
      yield* documents.put(KIND, settingKey, filter)
      return filter
    }))
    yield* audit.note({
      action: "ip_filter.updated", target: change.tempBan?.ip ?? change.removeBan ?? null, resourceType: "settings",
      details: {
        changed: names, enabled: next.enabled, mode: next.mode, blacklist: next.blacklist.length, whitelist: next.whitelist.length, tempBans: next.tempBans.length,
        ...(change.tempBan?.reason === undefined ? {} : { reason: change.tempBan.reason })
      }
    })
    return yield* view
  })

  return handlers.handleAll({
    get: () => view,
    put: ({ payload }) => answer(put(payload))
  })
}))
