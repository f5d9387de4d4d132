/** Checks a key's policy against the rules that a schema cannot express. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { isTimeZone } from "#schemas/timeZone.ts"
import type { PolicyInput } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import { leaseScope } from "#schemas/protocols/Lease.ts"
import { type ApiKeyPolicy, endpointNames } from "#schemas/records/ApiKey.ts"
import * as GuardrailName from "#schemas/api/GuardrailName.ts"
import * as IpRange from "#actors/keys/ipRange.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import { channelOf } from "#src/routing/auto/channel.ts"

/** Every key may read its own usage unless the operator takes that away. */
export const DEFAULT_SCOPE = "self:usage"

const normalized = (input: PolicyInput): PolicyInput => ({
  ...input,
  ...(typeof input.expiresAt === "string" ? { expiresAt: new Date(Date.parse(input.expiresAt)).toISOString() } : {}),
  ...(input.scopes === undefined ? {} : { scopes: Array.from(new Set(input.scopes)) })
})

/** A list given without its mode means what it says: restricted. */
const impliedModes = (input: PolicyInput): Partial<ApiKeyPolicy> => ({
  ...(input.modelAccessMode === undefined && (input.allowedModels?.length ?? 0) > 0 ? { modelAccessMode: "restricted" } : {}),
  ...(input.connectionAccessMode === undefined && (input.allowedConnections?.length ?? 0) > 0 ? { connectionAccessMode: "restricted" } : {})
})

/** A managed key names the connections it may lease. */
const lacksConnections = ({ allowedConnections, scopes }: ApiKeyPolicy): boolean => scopes.includes(leaseScope) && allowedConnections.length === 0

const issuesOf = (policy: ApiKeyPolicy): ReadonlyArray<FieldIssue> => {
  const issues: Array<FieldIssue> = []
  const issue = (field: string, message: string) => issues.push({ field, message })
  if (policy.modelAccessMode === "all" && policy.allowedModels.length > 0) {
    issue("allowedModels", "Must be empty while modelAccessMode is all")
  }
  if (lacksConnections(policy)) issue("allowedConnections", `Scope ${leaseScope} needs at least one allowed connection`)
  if (policy.allowedConnections.length > 0) {
    const foreign = policy.preferredConnections.findIndex((id) => !policy.allowedConnections.includes(id))
    if (foreign >= 0) issue(`preferredConnections.${foreign}`, "Must be one of allowedConnections")
  }
  const badAddress = policy.ipAllowlist.findIndex((entry) => IpRange.parseRange(entry) === null)
  if (badAddress >= 0) issue(`ipAllowlist.${badAddress}`, "Expected an IP address or CIDR range")
  if (policy.expiresAt !== null && Number.isNaN(Date.parse(policy.expiresAt))) issue("expiresAt", "Expected an ISO 8601 time")
  if (policy.accessSchedule !== null && !isTimeZone(policy.accessSchedule.tz)) {
    issue("accessSchedule.tz", "Expected an IANA time zone")
  }
  return issues
}

/** What a policy may name by name or id. */
export type Named = Pick<Snapshot, "combos" | "connectionById">

type NameField = "allowedEndpoints" | "disabledGuardrails" | "scopes" | "allowedConnections" | "preferredConnections" | "allowedCombos"

/** Names that name nothing; one that stood there before may stay: what it named may be gone. */
const strangersIn = (input: PolicyInput, current: ApiKeyPolicy, { combos, connectionById }: Named): ReadonlyArray<FieldIssue> => {
  const among = (field: NameField, isKnown: (name: string) => boolean, told: (name: string) => string) => {
    const stood = new Set(current[field])
    return (input[field] ?? []).flatMap((name, index) => isKnown(name) || stood.has(name) ? [] : [{ field: `${field}.${index}`, message: told(name.slice(0, 120)) }])
  }
  const oneOf = (names: ReadonlyArray<string>) => () => `Expected one of ${names.join(", ")}`
  const endpoints: ReadonlySet<string> = new Set(endpointNames)
  const names = new Set(combos.map(({ name }) => name))
  const connection = (id: string) => `No connection has the id '${id}': see GET /api/providers`
  return [
    ...among("allowedEndpoints", (name) => endpoints.has(name), oneOf(endpointNames)),
    ...among("disabledGuardrails", (name) => GuardrailName.isGuardrail(GuardrailName.normalized(name)), oneOf(GuardrailName.GuardrailName.literals)),
    ...among("scopes", Scopes.isKeyScope, oneOf(Scopes.keyScopes)),
    ...among("allowedConnections", (id) => connectionById.has(id), connection),
    ...among("preferredConnections", (id) => connectionById.has(id), connection),
    ...among("allowedCombos", (name) => names.has(name) || channelOf(name) !== null, (name) => `No combo is called '${name}': GET /api/combos lists their names`)
  ]
}

/** The policy after the change, or which fields stand in the way. `named`: null where the gateway itself names what the policy names. */
export const apply = (current: ApiKeyPolicy, input: PolicyInput, named: Named | null): ApiKeyPolicy | Refusal.Refusal => {
  if (typeof input.expiresAt === "string" && Number.isNaN(Date.parse(input.expiresAt))) {
    return Refusal.invalidField("expiresAt", "Expected an ISO 8601 time")
  }
  const policy: ApiKeyPolicy = { ...current, ...normalized(input), ...impliedModes(input) }
  const issues = [...issuesOf(policy), ...named === null ? [] : strangersIn(input, current, named)]
  if (issues.length === 0) return policy
  return lacksConnections(policy)
    ? Refusal.badRequest(`Scope ${leaseScope} needs a non-empty allowedConnections list`, {
      code: "LEASE_KEY_POLICY_INVALID", details: issues, errorExtra: { type: "lease_error" }
    })
    : Refusal.invalidFields(issues)
}
