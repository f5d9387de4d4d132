/**
 * The catalogue of feature flags as data: what GET /api/settings/feature-flags lists. A flag's behaviour lives with its feature, which
 * reads it by its key; a row that names a missing feature is read nowhere, and takes its default only.
 */
import * as Schema from "effect/Schema"
import type { FeatureName } from "#schemas/acting/features.ts"

export type FlagCategory = "security" | "network" | "policies" | "runtime" | "cli" | "health"
export type FlagSource = "db" | "env" | "default"

export interface FlagDefinition<K extends string = string> {
  readonly key: K
  readonly category: FlagCategory
  readonly label: string
  readonly type: "boolean" | "enum"
  readonly enumValues: ReadonlyArray<string> | null
  readonly defaultValue: string
  readonly warningLevel: "info" | "caution" | "danger" | null
  readonly requiresRestart: boolean
  readonly description: string
  /** The environment's value wins over the stored one; of other flags the stored one does. */
  readonly environmentFirst: boolean
  /** The feature that it belongs to and that is not built; null when the flag acts. */
  readonly lacks: FeatureName | null
}

/** A row: a flag is boolean unless it has `enumValues`, holds at once unless it `requiresRestart`, and acts unless it `lacks` its feature. */
type Row = Pick<FlagDefinition, "category" | "label" | "defaultValue" | "warningLevel" | "description">
  & Partial<Pick<FlagDefinition, "enumValues" | "requiresRestart" | "environmentFirst" | "lacks">>

const flag = <const K extends string>(key: K, { enumValues = null, environmentFirst = false, lacks = null, requiresRestart = false, ...row }: Row): FlagDefinition<K> => ({
  ...row, key, type: enumValues === null ? "boolean" : "enum", enumValues, requiresRestart, environmentFirst, lacks
})

export const catalogue = [
  flag("REQUIRE_API_KEY", {
    category: "security", label: "Require API Key", defaultValue: "false", warningLevel: "caution",
    description: "Inference without a valid key → 401"
  }),
  flag("INPUT_SANITIZER_ENABLED", {
    category: "security", label: "Input Sanitizer", defaultValue: "true", warningLevel: "info",
    description: "Master switch of request guardrails"
  }),
  flag("INJECTION_GUARD_MODE", {
    category: "security", label: "Injection Guard Mode", enumValues: ["off", "warn", "block", "redact"], defaultValue: "off", warningLevel: "info",
    description: "What the prompt-injection guard does with a suspicious prompt"
  }),
  flag("PII_REDACTION_ENABLED", {
    category: "security", label: "PII Redaction", defaultValue: "false", warningLevel: "info",
    description: "Masks personal data in requests"
  }),
  flag("PII_RESPONSE_SANITIZATION", {
    category: "security", label: "PII Response Sanitization", defaultValue: "false", warningLevel: "info",
    description: "Same for answers"
  }),
  flag("PII_RESPONSE_SANITIZATION_MODE", {
    category: "security", label: "PII Response Mode", enumValues: ["redact", "warn", "block", "off"], defaultValue: "redact", warningLevel: "info",
    description: "Redact, warn, block, off"
  }),
  flag("OUTBOUND_SSRF_GUARD_ENABLED", {
    category: "security", label: "SSRF Guard", defaultValue: "true", warningLevel: "info",
    description: "Private targets refused for outgoing calls"
  }),
  flag("ALLOW_API_KEY_REVEAL", {
    category: "security", label: "API Key Reveal", defaultValue: "false", warningLevel: "danger",
    description: "Reveal route and allowKeyReveal=true"
  }),
  flag("AUTH_LOG_INCLUDE_ACCOUNT_ID", {
    category: "security", label: "Account Id in Auth Log", defaultValue: "false", warningLevel: "caution",
    description: "Account prefix in auth log lines"
  }),
  flag("GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN", {
    category: "security", label: "Disable Password Login", defaultValue: "false", warningLevel: "caution",
    description: "Sign-ins by single sign-on only"
  }),
  flag("ENABLE_TLS_FINGERPRINT", {
    category: "network", label: "TLS Fingerprint", defaultValue: "false", warningLevel: "info", requiresRestart: true, lacks: "vendorClients",
    description: "Browser-like TLS for upstream calls"
  }),
  flag("AUDIO_REMOTE_PROVIDER_NODES", {
    category: "network", label: "Remote Audio Nodes", defaultValue: "false", warningLevel: "caution",
    description: "Audio routes may use non-loopback nodes"
  }),
  flag("RERANK_REMOTE_PROVIDER_NODES", {
    category: "network", label: "Remote Rerank Nodes", defaultValue: "false", warningLevel: "caution",
    description: "Same for rerank and memory rerank"
  }),
  flag("PROXY_AUTO_SELECT_ENABLED", {
    category: "network", label: "Proxy Auto Select", defaultValue: "false", warningLevel: "caution",
    description: "Unassigned connections take the first working registry proxy"
  }),
  flag("GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK", {
    category: "network", label: "Control-Plane Direct Fallback", defaultValue: "false", warningLevel: "danger",
    description: "OAuth and validation may go direct when the pinned proxy is unreachable"
  }),
  flag("NETWORK_ROTATION_SHARED_EGRESS_GUARD", {
    category: "network", label: "Shared Egress Guard", defaultValue: "true", warningLevel: "info",
    description: "After a network error without proxy: short cooldown, other proxy-less accounts skipped for this request"
  }),
  flag("PROXY_SKIP_RECENTLY_FAILED", {
    category: "network", label: "Skip Recently Failed Proxies", defaultValue: "false", warningLevel: "info",
    description: "Failed proxy set aside for a doubling time, per process; when all are aside nothing changes"
  }),
  flag("PROXY_POOL_EGRESS_OBSERVATION", {
    category: "network", label: "Egress Observation", defaultValue: "false", warningLevel: "info", lacks: "proxies",
    description: "24 h egress IP counts in the pool view"
  }),
  flag("MITM_DISABLE_TLS_VERIFY", {
    category: "network", label: "Disable TLS Verify (MITM)", defaultValue: "false", warningLevel: "danger", requiresRestart: true, lacks: "trafficInterception",
    description: "No certificate check in the local interception proxy"
  }),
  flag("GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS", {
    category: "network", label: "Private Provider URLs", defaultValue: "false", warningLevel: "caution",
    description: "Private ranges allowed as provider base URL"
  }),
  flag("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", {
    category: "network", label: "Local Provider URLs", defaultValue: "true", warningLevel: "info",
    description: "Loopback and LAN allowed when adding providers"
  }),
  flag("ENABLE_CC_COMPATIBLE_PROVIDER", {
    category: "network", label: "CC Compatible Provider", defaultValue: "false", warningLevel: "info", requiresRestart: true, lacks: "vendorClients",
    description: "Extra node compatibility mode"
  }),
  flag("FREE_TIER_RESPONSES_STALL_ROTATION", {
    category: "network", label: "Free-Tier Stall Rotation", defaultValue: "false", warningLevel: "info", lacks: "vendorClients",
    description: "A free-tier answer without a first byte for 15 s is rotated once"
  }),
  flag("FREE_TIER_USER_BLOCKED_ROTATION", {
    category: "network", label: "Free-Tier Blocked Rotation", defaultValue: "false", warningLevel: "info", lacks: "vendorClients",
    description: "One rotation when the free tier blocks the account"
  }),
  flag("FREE_TIER_TRANSIENT_FAILOVER_BACKOFF", {
    category: "network", label: "Free-Tier Failover Backoff", defaultValue: "false", warningLevel: "info", lacks: "vendorClients",
    description: "Doubling pause after two transient free-tier failures"
  }),
  flag("FREE_TIER_PARK_AND_RESUME", {
    category: "network", label: "Free-Tier Park and Resume", defaultValue: "false", warningLevel: "info", lacks: "vendorClients",
    description: "Parks a free-tier request until its account is free again"
  }),
  flag("TOOL_POLICY_MODE", {
    category: "policies", label: "Tool Policy Mode", enumValues: ["disabled", "warn", "block"], defaultValue: "disabled", warningLevel: "caution",
    description: "Requests that offer a tool of the setting deniedTools: warn logs them, block answers 403"
  }),
  flag("RATE_LIMIT_AUTO_ENABLE", {
    category: "policies", label: "Auto Rate Limit", defaultValue: "false", warningLevel: "info",
    description: "Turns on the per-connection queue for key providers"
  }),
  flag("DISABLE_CONTEXT_WINDOW_CHECKS", {
    category: "policies", label: "Disable Context Checks", defaultValue: "false", warningLevel: "caution",
    description: "No local window check for single-model calls"
  }),
  flag("CAPABILITY_FILTER_ENABLED", {
    category: "policies", label: "Capability Filter", defaultValue: "false", warningLevel: "info",
    description: "400 before dispatch when a capability is missing"
  }),
  flag("RADAR_ENABLED", {
    category: "policies", label: "Radar", defaultValue: "false", warningLevel: "info", lacks: "discovery",
    description: "Catalogue feed screens"
  }),
  flag("UNIVERSAL_CONTEXT_HANDOFF_ENABLED", {
    category: "runtime", label: "Context Handoff", defaultValue: "true", warningLevel: "info",
    description: "Summary injected when a combo changes model"
  }),
  flag("RESPONSES_PASSTHROUGH_DROP_COMMENTARY", {
    category: "runtime", label: "Drop Commentary", defaultValue: "true", warningLevel: "info",
    description: "Commentary-phase items removed from responses pass-through"
  }),
  flag("GATEWAY_MCP_ENFORCE_SCOPES", {
    category: "runtime", label: "MCP Scopes", defaultValue: "true", warningLevel: "caution",
    description: "Scope check per tool"
  }),
  flag("GATEWAY_MCP_COMPRESS_DESCRIPTIONS", {
    category: "runtime", label: "MCP Description Compression", defaultValue: "false", warningLevel: "info",
    description: "Shorter tool descriptions"
  }),
  flag("GATEWAY_ENABLE_RUNTIME_BACKGROUND_TASKS", {
    category: "runtime", label: "Runtime Background Tasks", defaultValue: "false", warningLevel: "info", lacks: "backgroundTasks",
    description: "Background work in the request process"
  }),
  flag("GATEWAY_DISABLE_BACKGROUND_SERVICES", {
    category: "runtime", label: "Disable Background Services", defaultValue: "false", warningLevel: "caution", requiresRestart: true,
    description: "No quota refresh, sync, sweeps"
  }),
  flag("GATEWAY_RTK_TRUST_PROJECT_FILTERS", {
    category: "runtime", label: "Trust Project Filters", defaultValue: "false", warningLevel: "caution",
    description: "Project RTK filters without validation"
  }),
  flag("GATEWAY_ENABLE_LIVE_WS", {
    category: "runtime", label: "Live WebSocket", defaultValue: "true", warningLevel: "info", requiresRestart: true,
    description: "Port 20132"
  }),
  flag("GATEWAY_CODEX_WS_ENABLED", {
    category: "runtime", label: "Responses WebSocket", defaultValue: "true", warningLevel: "info",
    description: "Allows the responses-over-WebSocket transport"
  }),
  flag("GATEWAY_CODEX_APP_SERVER_ENABLED", {
    category: "runtime", label: "App-Server Transport", defaultValue: "true", warningLevel: "info", lacks: "vendorClients",
    description: "Local JSON-RPC transport of one provider"
  }),
  flag("GATEWAY_EMERGENCY_FALLBACK", {
    category: "runtime", label: "Emergency Fallback", defaultValue: "true", warningLevel: "caution",
    description: "Free model when budget is used up"
  }),
  flag("STREAM_RECOVERY_ENABLED", {
    category: "runtime", label: "Stream Recovery", defaultValue: "false", warningLevel: "caution",
    description: "Holds the first bytes shortly; a truncated stream is retried before any byte is released"
  }),
  flag("STREAM_RECOVERY_MIDSTREAM_ENABLED", {
    category: "runtime", label: "Mid-Stream Recovery", defaultValue: "false", warningLevel: "danger",
    description: "Continues a stream that broke after bytes were sent, with the partial answer as prefix"
  }),
  flag("STREAM_RECOVERY_TOOLCALL_ORDER_FIX", {
    category: "runtime", label: "Tool-Call Safe Recovery", defaultValue: "false", warningLevel: "info",
    description: "Never continues after a tool call was emitted"
  }),
  flag("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED", {
    category: "runtime", label: "Early-EOF Sibling Failover", defaultValue: "false", warningLevel: "info",
    description: "Tries one sibling connection after an empty stream"
  }),
  flag("MODEL_CATALOG_INCLUDE_NAMES", {
    category: "runtime", label: "Model Names", defaultValue: "true", warningLevel: "info",
    description: "Name field in /v1/models"
  }),
  flag("MODELS_CATALOG_PREFIX_MODE", {
    category: "runtime", label: "Catalog Prefix Mode", enumValues: ["dual", "alias", "canonical"], defaultValue: "dual", warningLevel: "info",
    description: "Dual, alias, canonical"
  }),
  flag("ARENA_ELO_SYNC_ENABLED", {
    category: "runtime", label: "Arena ELO Sync", defaultValue: "true", warningLevel: "info", lacks: "discovery",
    description: "Task fitness from public rankings"
  }),
  flag("EXPOSE_CC_DISCOVERY_ALIASES", {
    category: "runtime", label: "Discovery Aliases", defaultValue: "false", warningLevel: "info",
    description: "Models are also listed and asked for as claude/<provider>/<model>, so that a coding client lists other vendors' models"
  }),
  flag("NO_THINKING_ALIAS_ENABLED", {
    category: "runtime", label: "No-Thinking Aliases", defaultValue: "true", warningLevel: "info",
    description: "Lists and resolves no-thinking variants of thinking-capable models"
  }),
  flag("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS", {
    category: "runtime", label: "Disable Level Variants", defaultValue: "false", warningLevel: "info",
    description: "No -low/-medium/-high ids"
  }),
  flag("GATEWAY_CHAT_VIRTUAL_LANES", {
    category: "runtime", label: "Virtual Lanes", defaultValue: "false", warningLevel: "caution", requiresRestart: true, environmentFirst: true,
    description: "Keys with waiting requests have turns one after the other; the environment wins over the stored value"
  }),
  flag("EXPOSE_FUNCTIONAL_GATEWAY_MIRRORS", {
    category: "runtime", label: "Functional Mirrors", defaultValue: "false", warningLevel: "info", lacks: "privateModels",
    description: "Ids through a credentialed pass-through provider when the owner has none"
  }),
  flag("NEWAPI_AGGREGATOR_BALANCE", {
    category: "runtime", label: "Aggregator Balance", defaultValue: "false", warningLevel: "info",
    description: "Balance of aggregator nodes"
  }),
  flag("SERVER_OWNED_TOOL_LOOP_ENABLED", {
    category: "runtime", label: "Server Tool Loop", defaultValue: "false", warningLevel: "caution",
    description: "Gateway-run tool calls are continued (non-streaming) until a client-usable answer"
  }),
  flag("SEARCH_STATS_HIDE_DELETED_CONNECTIONS", {
    category: "runtime", label: "Hide Deleted in Search Stats", defaultValue: "false", warningLevel: "info",
    description: "Hide Deleted in Search Stats"
  }),
  flag("FREE_BADGE_REQUIRES_PROVIDER_FREE_TIER", {
    category: "runtime", label: "Strict Free Badge", defaultValue: "false", warningLevel: "info",
    description: "Marks a model as free only where its provider has a free tier"
  }),
  flag("RETRY_AFTER_PROVENANCE_ENABLED", {
    category: "runtime", label: "Retry-After Provenance", defaultValue: "false", warningLevel: "info",
    description: "Says on aggregated 429 and 503 replies whether Retry-After rests on a known time"
  }),
  flag("PROTECTED_PRIORITY_INFRA_502_ENABLED", {
    category: "runtime", label: "Protected Priority 502", defaultValue: "false", warningLevel: "info",
    description: "Answers 502 when a protected priority target fails for infrastructure reasons"
  }),
  flag("BATCH_AND_FILE_AUTO_CLEANUP_ENABLED", {
    category: "runtime", label: "Batch and File Cleanup", defaultValue: "false", warningLevel: "caution",
    description: "Removes finished batches and expired file contents on a schedule"
  }),
  flag("AMBIGUOUS_401_SOFT_LOCKOUT", {
    category: "runtime", label: "Ambiguous 401 Soft Lockout", defaultValue: "false", warningLevel: "info",
    description: "An unclear 401 cools the connection instead of expiring it, at most three times an hour"
  }),
  flag("OAUTH_LIVE_MODEL_DISCOVERY", {
    category: "runtime", label: "OAuth Live Model Discovery", defaultValue: "false", warningLevel: "info", lacks: "discovery",
    description: "Model list of an OAuth provider is read from the provider"
  }),
  flag("POOLED_ACCOUNT_LEASE_ENABLED", {
    category: "runtime", label: "Pooled Account Lease", defaultValue: "false", warningLevel: "info", lacks: "vendorClients",
    description: "A pooled account serves one request at a time; busy = 503 with Retry-After"
  }),
  flag("CLI_COMPAT_ALL", {
    category: "cli", label: "CLI Compatibility", defaultValue: "false", warningLevel: "info", requiresRestart: true, lacks: "vendorClients",
    description: "Client compatibility for all"
  }),
  flag("MODEL_ALIAS_COMPAT_ENABLED", {
    category: "cli", label: "Model Alias Compatibility", defaultValue: "false", warningLevel: "info", lacks: "privateModels",
    description: "Older alias names resolve"
  }),
  flag("PRICING_SYNC_ENABLED", {
    category: "cli", label: "Pricing Sync", defaultValue: "false", warningLevel: "info",
    description: "Reads prices from PRICING_SYNC_SOURCES on a schedule"
  }),
  flag("GATEWAY_AUTO_SYNC_CLI_PROFILES_A", {
    category: "cli", label: "Auto-Sync CLI Profiles A", defaultValue: "false", warningLevel: "caution", lacks: "agents",
    description: "Writes client profiles after a model sync; never changes the active one"
  }),
  flag("GATEWAY_AUTO_SYNC_CLI_PROFILES_B", {
    category: "cli", label: "Auto-Sync CLI Profiles B", defaultValue: "false", warningLevel: "caution", lacks: "agents",
    description: "Writes client profiles after a model sync; never changes the active one"
  }),
  flag("GATEWAY_DISABLE_LOCAL_HEALTHCHECK", {
    category: "health", label: "Disable Local Health Check", defaultValue: "false", warningLevel: "info", lacks: "backgroundTasks",
    description: "Disable Local Health Check"
  }),
  flag("GATEWAY_DISABLE_TOKEN_HEALTHCHECK", {
    category: "health", label: "Disable Token Health Check", defaultValue: "false", warningLevel: "info",
    description: "No token sweep"
  }),
  flag("SKILLS_SANDBOX_NETWORK_ENABLED", {
    category: "health", label: "Sandbox Network", defaultValue: "false", warningLevel: "caution", lacks: "skillMarkets",
    description: "Sandbox Network"
  }),
  flag("PROXY_HEALTH_BLOCKED_RESETS_STREAK", {
    category: "health", label: "Blocked Resets Streak", defaultValue: "false", warningLevel: "info", lacks: "proxies",
    description: "401/403/429 probe resets the failure streak; 5xx stays neutral"
  }),
  flag("DB_HEALTHCHECK_STARTUP_DEFERRED_ENABLED", {
    category: "health", label: "Deferred DB Check", defaultValue: "false", warningLevel: "info",
    description: "The schema of the database is checked after the start, and what differs is logged"
  })] as const

export type FlagKey = (typeof catalogue)[number]["key"]
export const FlagKey = Schema.Literals(catalogue.map((definition) => definition.key))

export const byKey: ReadonlyMap<string, FlagDefinition<FlagKey>> = new Map(catalogue.map((d) => [d.key, d]))

/** Texts of a boolean flag in lower case, and the value each one becomes. */
const switches: ReadonlyMap<string, string> = new Map([
  ["true", "true"], ["1", "1"], ["yes", "yes"], ["on", "true"], ["false", "false"], ["0", "0"], ["no", "no"], ["off", "false"]
])

/**
 * A flag's value out of a text, or null when the flag does not take it. Values are read in any case; of a boolean `on` and `off` become `true` and
 * `false`, so that an effective value is on exactly when it is `true`, `1` or `yes`.
 */
export const read = (definition: FlagDefinition, text: string): string | null => {
  const lower = text.toLowerCase()
  if (definition.enumValues !== null) return definition.enumValues.find((value) => value.toLowerCase() === lower) ?? null
  return switches.get(lower) ?? null
}

/** What a flag takes, in words that follow "is not". */
export const expects = (definition: FlagDefinition): string => `one of ${(definition.enumValues ?? [...switches.keys()]).join(", ")}`

/** A boolean flag is on when its effective value is `true`, `1` or `yes`. */
export const isTruthy = (value: string): boolean => value === "true" || value === "1" || value === "yes"

/** Whether a boolean flag is on: by its override, else the environment, else its default. */
export const isOn = (key: FlagKey, overrides: ReadonlyMap<string, string>, environment: Readonly<Record<string, string | undefined>>): boolean => {
  const definition = catalogue.find((one) => one.key === key) as FlagDefinition
  const given = environment[key]
  return isTruthy(overrides.get(key) ?? (given === undefined || given === "" ? null : read(definition, given)) ?? definition.defaultValue)
}
