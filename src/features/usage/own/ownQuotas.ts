/** The provider quotas behind a key that its holder may see (scope `self:account-quota`). Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Quotas } from "#src/routing/ports/Quotas.ts"
import type { OwnQuota } from "./api.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as QuotaView from "#src/features/quotas/ports/quotaView.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { compileGlob } from "#src/routing/models/glob.ts"
import * as Rights from "#src/routing/Rights.ts"

/** A key that may read management views sees them anyway. */
const scopes: ReadonlyArray<string> = ["self:account-quota", "manage", "admin"]

const longestPlan = 80

/** A pattern of model ids reaches a provider: it may match an id that begins with one of the provider's names, or a bare id of its models. */
const reaches = (pattern: string, names: ReadonlyArray<string>, serves: (model: string) => boolean): boolean => {
  const slash = pattern.indexOf("/")
  const prefix = slash === -1 ? pattern : pattern.slice(0, slash)
  if (slash === -1 && !/[*?]/.test(pattern)) return serves(pattern)
  const matches = compileGlob(prefix)
  return names.some((name) => matches(name) || (slash === -1 && matches(`${name}/`)))
}

/** A pattern takes away every model of a provider. */
const takesAll = (pattern: string, names: ReadonlyArray<string>): boolean =>
  pattern === "*" || (pattern.endsWith("/*") && names.some(compileGlob(pattern.slice(0, -2))))

/** Whether a request of this key for a single model may go to the connection; what only a combo leads to is not looked for. */
const mayUse = ({ issuer = null, policy }: ApiKey, connection: Connection, snapshot: Snapshot, registry: Registry): boolean => {
  if (issuer !== null && !mayUse(issuer, connection, snapshot, registry)) return false
  const { nodeById } = snapshot
  const { allowedModels, blockedModels, modelAccessMode } = policy
  if (!Rights.reachesConnection(policy, connection)) return false
  const row = registry.byId.get(connection.provider)
  const node = nodeById.get(connection.provider)
  const names = [connection.provider, ...(row === undefined ? [] : [row.alias]), ...(node === undefined ? [] : [node.prefix])]
  if (blockedModels.some((pattern) => takesAll(pattern, names))) return false
  if (modelAccessMode !== "restricted") return true
  const models = registry.modelsOf.get(connection.provider)
  return allowedModels.some((pattern) => reaches(pattern, names, (model) => models !== undefined && models.has(model)))
}

/** Never an identity: plans are free text of operators. */
const planOf = (connection: Connection): string | null => {
  const plan = QuotaView.planOf(connection)
  return plan === null || plan.includes("@") ? null : plan.slice(0, longestPlan)
}

export interface QuotaSources {
  readonly snapshot: Snapshot
  readonly registry: Registry
  readonly quotas: Pick<Quotas["Service"], "held" | "limitsOf">
}

/** The connections that the key may use, those it prefers first; empty without the scope. `now`: ms since the epoch. */
export const of = ({ quotas, registry, snapshot }: QuotaSources, key: ApiKey, now: number): ReadonlyArray<OwnQuota> => {
  if (!scopes.some((scope) => key.policy.scopes.includes(scope))) return []
  const shown = snapshot.connections.filter((connection) =>
    connection.isActive && connection.quotaVisible && mayUse(key, connection, snapshot, registry))
  const { preferredConnections } = key.policy
  const placeOf = ({ id }: Connection): number => preferredConnections.includes(id) ? 0 : 1
  return shown.sort((a, b) => placeOf(a) - placeOf(b)).map((connection) => ({
    connectionId: connection.id,
    provider: shownProvider(snapshot, connection.provider),
    plan: planOf(connection),
    quotas: Object.fromEntries(Object.entries(QuotaView.windowsOf(quotas.held(connection.id, now), quotas.limitsOf, now))
      .map(([name, { remaining, remainingPercentage, resetAt, total, unlimited, used }]) =>
        [name, { used, total, remaining, remainingPercentage, resetAt, unlimited }]))
  }))
}

/** The one that stands for the key: the first whose upstream reported a window; null while none did. */
export const selected = (quotas: ReadonlyArray<OwnQuota>): OwnQuota | null =>
  quotas.find((one) => Object.keys(one.quotas).length > 0) ?? null
