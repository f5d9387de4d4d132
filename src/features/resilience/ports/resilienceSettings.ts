/** The effective settings of the three mechanisms from what is stored; a stored value that no longer fits its schema is passed over. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import type * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import * as DailyReset from "#actors/resilience/DailyReset.ts"
import type * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import {
  ConcurrencyLimits, ModelLockoutChange, modelLockoutDefaults, type ProfileName, ResilienceChange, resilienceDefaults,
  type ResilienceSettings
} from "#schemas/records/ResilienceSettings.ts"
import * as OlderNames from "./olderNames.ts"

/** Keys of kind `setting` that hold them. */
export const settingKey = "resilience"
export const limitsKey = "concurrencyLimits"

/** What is read of a snapshot. */
export type Stored = Pick<Snapshot, "settings">

const readChange = Schema.decodeUnknownOption(ResilienceChange)
const readLockout = Schema.decodeUnknownOption(ModelLockoutChange)
const readLimits = Schema.decodeUnknownOption(ConcurrencyLimits)

type Json = Readonly<Record<string, unknown>>
/** Deep merge of JSON objects: arrays and scalars replace, and a null where an object stood removes it. */
export const merge = (base: Json, change: Json): Json => {
  const out: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(change)) {
    const known = out[name]
    if (Predicate.isReadonlyObject(value)) out[name] = merge(Predicate.isReadonlyObject(known) ? known : {}, value)
    else if (value === null && (Predicate.isReadonlyObject(known) || known === undefined)) delete out[name]
    else out[name] = value
  }
  return out
}

/** The same settings with the records that have providers as keys renamed. */
export const renamed = <A extends ResilienceChange>(settings: A, rename: <V>(records: Readonly<Record<string, V>>) => Readonly<Record<string, V>>): A => {
  const { providerQuotaOverrides, quotaPreflight } = settings
  return {
    ...settings,
    ...(providerQuotaOverrides === undefined ? {} : { providerQuotaOverrides: rename(providerQuotaOverrides) }),
    ...(quotaPreflight?.providerWindowDefaults === undefined ? {} : {
      quotaPreflight: { ...quotaPreflight, providerWindowDefaults: rename(quotaPreflight.providerWindowDefaults) }
    })
  }
}

/** What is stored under the setting, or nothing. */
export const storedChange = (snapshot: Stored): ResilienceChange =>
  Option.getOrElse(readChange(snapshot.settings.get(settingKey) ?? {}), () => ({}))

/** What is said outside of the stored settings. */
export interface Outside {
  /** Flag RATE_LIMIT_AUTO_ENABLE. */
  readonly autoQueue: () => boolean
  /** Flag AMBIGUOUS_401_SOFT_LOCKOUT. */
  readonly softLockout: () => boolean
  /** RATE_LIMIT_MAX_WAIT_MS, the default of requestQueue.maxWaitMs; null = unset. */
  readonly maxWaitMs: number | null
  /** RATE_LIMIT_MAX_QUEUE_DEPTH, the default of requestQueue.maxQueueDepth; null = unset. */
  readonly maxQueueDepth: number | null
  /** Nodes that live now, this one among them: they share what an upstream allows. */
  readonly nodes: () => number
}
export const nothingOutside: Outside = { autoQueue: () => false, softLockout: () => false, maxWaitMs: null, maxQueueDepth: null, nodes: () => 1 }

/** A node's part of a cap, rounded up so that no node is shut out; 0 = no cap stays none. */
export const partOf = (cap: number, nodes: number): number => Math.ceil(cap / nodes)

/** Defaults under the environment, the older names of waits and a change. */
export const effective = (
  change: ResilienceChange, { maxQueueDepth, maxWaitMs }: Outside = nothingOutside, older: ResilienceChange["waitForCooldown"] = {}
): ResilienceSettings => {
  const { requestQueue, waitForCooldown } = resilienceDefaults
  const defaults: ResilienceSettings = {
    ...resilienceDefaults,
    requestQueue: { ...requestQueue, maxWaitMs: maxWaitMs ?? requestQueue.maxWaitMs, maxQueueDepth: maxQueueDepth ?? requestQueue.maxQueueDepth },
    waitForCooldown: { ...waitForCooldown, ...older }
  }
  return merge(defaults as unknown as Json, change as Json) as unknown as ResilienceSettings
}

/** Everything the service reads, ready for use. */
export interface Effective {
  readonly settings: ResilienceSettings
  readonly breaker: Readonly<Record<ProfileName, ProviderBreaker.BreakerRules>>
  readonly cooldown: Readonly<Record<ProfileName, ConnectionCooldown.CooldownRules>>
  /** Of whole providers; null = off. */
  readonly providerCooldown: ConnectionCooldown.CooldownRules | null
  /** A 429 that names its end counts for the breaker of its provider. */
  readonly rateLimitsCount: Readonly<Record<ProfileName, boolean>>
  readonly lockout: ModelLockout.LockoutRules
  /** Every connection with a key waits in line, if the settings agree (flag RATE_LIMIT_AUTO_ENABLE). */
  readonly autoQueue: boolean
  /** A connection rests after an unclear 401 (flag AMBIGUOUS_401_SOFT_LOCKOUT). */
  readonly softLockout: boolean
  readonly nodes: number
  /** Calls at once; 0 = no cap. */
  readonly globalMax: number
  readonly perProvider: ReadonlyMap<string, number>
  /** When the daily quotas of provider nodes are new again, by the node's id. */
  readonly dailyResets: ReadonlyMap<string, DailyReset.DailyReset>
}

export const limitsOf = (snapshot: Stored): ConcurrencyLimits =>
  Option.getOrElse(readLimits(snapshot.settings.get(limitsKey) ?? {}), () => ({}))

const cooldownOf = (settings: ResilienceSettings, profile: ProfileName): ConnectionCooldown.CooldownRules => {
  const section = settings.connectionCooldown[profile]
  return {
    transientBaseMs: section.baseCooldownMs,
    rateLimitBaseMs: section.rateLimitCooldownMs,
    maxBackoffLevel: section.maxBackoffSteps,
    useHints: section.useUpstreamRetryHints
  }
}

const providerCooldownOf = ({ providerCooldown: { enabled, maxMs, minMs } }: ResilienceSettings): ConnectionCooldown.CooldownRules | null =>
  enabled ? { transientBaseMs: minMs, rateLimitBaseMs: 0, maxBackoffLevel: mostDoublings, useHints: false, longestMs: maxMs } : null

/** A day is fewer doublings of a millisecond. */
const mostDoublings = 32

const dailyResetsOf = ({ nodes }: Pick<Snapshot, "nodes">): ReadonlyMap<string, DailyReset.DailyReset> => {
  const resets = new Map<string, DailyReset.DailyReset>()
  for (const node of nodes) {
    const reset = DailyReset.of(node)
    if (reset !== null) resets.set(node.id, reset)
  }
  return resets
}

export const of = (snapshot: Stored & Pick<Snapshot, "nodes">, outside: Outside = nothingOutside): Effective => {
  const settings = effective(storedChange(snapshot), outside, OlderNames.stored(snapshot.settings))
  const { connectionCooldown } = settings
  const limits = limitsOf(snapshot)
  const stored = Option.getOrElse(readLockout(snapshot.settings.get("modelLockout") ?? {}), () => ({}))
  return {
    settings,
    breaker: settings.providerBreaker,
    cooldown: { oauth: cooldownOf(settings, "oauth"), apikey: cooldownOf(settings, "apikey"), local: cooldownOf(settings, "local") },
    providerCooldown: providerCooldownOf(settings),
    rateLimitsCount: {
      oauth: connectionCooldown.oauth.useUpstream429BreakerHints === true, apikey: connectionCooldown.apikey.useUpstream429BreakerHints === true,
      local: connectionCooldown.local.useUpstream429BreakerHints === true
    },
    lockout: { ...modelLockoutDefaults, ...stored },
    autoQueue: outside.autoQueue(),
    softLockout: outside.softLockout(),
    nodes: Math.max(1, outside.nodes()),
    globalMax: limits.global ?? 0,
    perProvider: new Map(Object.entries(limits.perProvider ?? {})),
    dailyResets: dailyResetsOf(snapshot)
  }
}

/** The smallest cap that is set; 0 = none is. */
export const leastCap = (...caps: ReadonlyArray<number | null | undefined>): number => {
  let least = 0
  for (const cap of caps) if (typeof cap === "number" && cap > 0 && (least === 0 || cap < least)) least = cap
  return least
}
