/** Checks a key's policy against the rules that a schema cannot express. Pure. */
import { isTimeZone } from "#schemas/timeZone.ts"
import type { PolicyInput } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import { leaseScope } from "#schemas/protocols/Lease.ts"
import { type ApiKeyPolicy, endpointNames } from "#schemas/records/ApiKey.ts"
import * as GuardrailName from "#schemas/api/GuardrailName.ts"
import * as IpRange from "#actors/keys/ipRange.ts"

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

/** Words that name nothing, where all words are known; one that stood there before may stay. */
const strangersIn = (input: PolicyInput, current: ApiKeyPolicy): ReadonlyArray<FieldIssue> => {
  const known: ReadonlySet<string> = new Set(endpointNames)
  const among = (field: "allowedEndpoints" | "disabledGuardrails", isKnown: (name: string) => boolean, names: ReadonlyArray<string>) =>
    (input[field] ?? []).flatMap((name, index) => isKnown(name) || current[field].includes(name) ? [] : [{ field: `${field}.${index}`, message: `Expected one of ${names.join(", ")}` }])
  return [
    ...among("allowedEndpoints", (name) => known.has(name), endpointNames),
    ...among("disabledGuardrails", (name) => GuardrailName.isGuardrail(GuardrailName.normalized(name)), GuardrailName.GuardrailName.literals)
  ]
}

/** The policy after the change, or which fields stand in the way. */
export const apply = (current: ApiKeyPolicy, input: PolicyInput): ApiKeyPolicy | Refusal.Refusal => {
  if (typeof input.expiresAt === "string" && Number.isNaN(Date.parse(input.expiresAt))) {
    return Refusal.invalidField("expiresAt", "Expected an ISO 8601 time")
  }
  const policy: ApiKeyPolicy = { ...current, ...normalized(input), ...impliedModes(input) }
  const issues = [...issuesOf(policy), ...strangersIn(input, current)]
  if (issues.length === 0) return policy
  return lacksConnections(policy)
    ? Refusal.badRequest(`Scope ${leaseScope} needs a non-empty allowedConnections list`, {
      code: "LEASE_KEY_POLICY_INVALID", details: issues, errorExtra: { type: "lease_error" }
    })
    : Refusal.invalidFields(issues)
}
