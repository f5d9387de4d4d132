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
  /** The feature that it belongs to and that is not built; null when the flag acts. */
  readonly lacks: FeatureName | null
}

const flag = <const K extends string>(
  key: K,
  category: FlagCategory,
  label: string,
  type: "boolean" | "enum",
  enumValues: ReadonlyArray<string> | null,
  defaultValue: string,
  warningLevel: "info" | "caution" | "danger" | null,
  requiresRestart: boolean,
  description: string,
  lacks: FeatureName | null = null
): FlagDefinition<K> => ({
  key, category, label, type, enumValues, defaultValue, warningLevel, requiresRestart, description, lacks
})

/** Flags of which the environment's value wins over the stored one; of all others the stored one does. */
export const environmentFirst: ReadonlySet<string> = new Set(["GATEWAY_CHAT_VIRTUAL_LANES"])

export const catalogue = [
  flag("REQUIRE_API_KEY", "security", "Require API Key", "boolean", null, "false", "caution", false,
    "Inference without a valid key → 401"),
  flag("INPUT_SANITIZER_ENABLED", "security", "Input Sanitizer", "boolean", null, "true", "info", false,
    "Master switch of request guardrails"),
  flag("INJECTION_GUARD_MODE", "security", "Injection Guard Mode", "enum", ["off", "warn", "block", "redact"], "off", "info", false,
    "What the prompt-injection guard does with a suspicious prompt"),
  flag("PII_REDACTION_ENABLED", "security", "PII Redaction", "boolean", null, "false", "info", false,
    "Masks personal data in requests"),
  flag("PII_RESPONSE_SANITIZATION", "security", "PII Response Sanitization", "boolean", null, "false", "info", false,
    "Same for answers"),
  flag("PII_RESPONSE_SANITIZATION_MODE", "security", "PII Response Mode", "enum", ["redact", "warn", "block", "off"], "redact", "info", false,
    "Redact, warn, block, off"),
  flag("OUTBOUND_SSRF_GUARD_ENABLED", "security", "SSRF Guard", "boolean", null, "true", "info", false,
    "Private targets refused for outgoing calls"),
  flag("ALLOW_API_KEY_REVEAL", "security", "API Key Reveal", "boolean", null, "false", "danger", false,
    "Reveal route and allowKeyReveal=true"),
  flag("AUTH_LOG_INCLUDE_ACCOUNT_ID", "security", "Account Id in Auth Log", "boolean", null, "false", "caution", false,
    "Account prefix in auth log lines"),
  flag("GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN", "security", "Disable Password Login", "boolean", null, "false", "caution", false,
    "Sign-ins by single sign-on only"),
  flag("ENABLE_TLS_FINGERPRINT", "network", "TLS Fingerprint", "boolean", null, "false", "info", true,
    "Browser-like TLS for upstream calls", "vendorClients"),
  flag("AUDIO_REMOTE_PROVIDER_NODES", "network", "Remote Audio Nodes", "boolean", null, "false", "caution", false,
    "Audio routes may use non-loopback nodes"),
  flag("RERANK_REMOTE_PROVIDER_NODES", "network", "Remote Rerank Nodes", "boolean", null, "false", "caution", false,
    "Same for rerank and memory rerank"),
  flag("PROXY_AUTO_SELECT_ENABLED", "network", "Proxy Auto Select", "boolean", null, "false", "caution", false,
    "Unassigned connections take the first working registry proxy"),
  flag("GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK", "network", "Control-Plane Direct Fallback", "boolean", null, "false", "danger", false,
    "OAuth and validation may go direct when the pinned proxy is unreachable"),
  flag("NETWORK_ROTATION_SHARED_EGRESS_GUARD", "network", "Shared Egress Guard", "boolean", null, "true", "info", false,
    "After a network error without proxy: short cooldown, other proxy-less accounts skipped for this request"),
  flag("PROXY_SKIP_RECENTLY_FAILED", "network", "Skip Recently Failed Proxies", "boolean", null, "false", "info", false,
    "Failed proxy set aside for a doubling time, per process; when all are aside nothing changes"),
  flag("PROXY_POOL_EGRESS_OBSERVATION", "network", "Egress Observation", "boolean", null, "false", "info", false,
    "24 h egress IP counts in the pool view", "proxies"),
  flag("MITM_DISABLE_TLS_VERIFY", "network", "Disable TLS Verify (MITM)", "boolean", null, "false", "danger", true,
    "No certificate check in the local interception proxy", "trafficInterception"),
  flag("GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS", "network", "Private Provider URLs", "boolean", null, "false", "caution", false,
    "Private ranges allowed as provider base URL"),
  flag("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "network", "Local Provider URLs", "boolean", null, "true", "info", false,
    "Loopback and LAN allowed when adding providers"),
  flag("ENABLE_CC_COMPATIBLE_PROVIDER", "network", "CC Compatible Provider", "boolean", null, "false", "info", true,
    "Extra node compatibility mode", "vendorClients"),
  flag("FREE_TIER_RESPONSES_STALL_ROTATION", "network", "Free-Tier Stall Rotation", "boolean", null, "false", "info", false,
    "A free-tier answer without a first byte for 15 s is rotated once", "vendorClients"),
  flag("FREE_TIER_USER_BLOCKED_ROTATION", "network", "Free-Tier Blocked Rotation", "boolean", null, "false", "info", false,
    "One rotation when the free tier blocks the account", "vendorClients"),
  flag("FREE_TIER_TRANSIENT_FAILOVER_BACKOFF", "network", "Free-Tier Failover Backoff", "boolean", null, "false", "info", false,
    "Doubling pause after two transient free-tier failures", "vendorClients"),
  flag("FREE_TIER_PARK_AND_RESUME", "network", "Free-Tier Park and Resume", "boolean", null, "false", "info", false,
    "Parks a free-tier request until its account is free again", "vendorClients"),
  flag("TOOL_POLICY_MODE", "policies", "Tool Policy Mode", "enum", ["disabled", "warn", "block"], "disabled", "caution", false,
    "Requests that offer a tool of the setting deniedTools: warn logs them, block answers 403"),
  flag("RATE_LIMIT_AUTO_ENABLE", "policies", "Auto Rate Limit", "boolean", null, "false", "info", false,
    "Turns on the per-connection queue for key providers"),
  flag("DISABLE_CONTEXT_WINDOW_CHECKS", "policies", "Disable Context Checks", "boolean", null, "false", "caution", false,
    "No local window check for single-model calls"),
  flag("CAPABILITY_FILTER_ENABLED", "policies", "Capability Filter", "boolean", null, "false", "info", false,
    "400 before dispatch when a capability is missing"),
  flag("RADAR_ENABLED", "policies", "Radar", "boolean", null, "false", "info", false,
    "Catalogue feed screens", "discovery"),
  flag("UNIVERSAL_CONTEXT_HANDOFF_ENABLED", "runtime", "Context Handoff", "boolean", null, "true", "info", false,
    "Summary injected when a combo changes model"),
  flag("RESPONSES_PASSTHROUGH_DROP_COMMENTARY", "runtime", "Drop Commentary", "boolean", null, "true", "info", false,
    "Commentary-phase items removed from responses pass-through"),
  flag("GATEWAY_MCP_ENFORCE_SCOPES", "runtime", "MCP Scopes", "boolean", null, "true", "caution", false,
    "Scope check per tool"),
  flag("GATEWAY_MCP_COMPRESS_DESCRIPTIONS", "runtime", "MCP Description Compression", "boolean", null, "false", "info", false,
    "Shorter tool descriptions"),
  flag("GATEWAY_ENABLE_RUNTIME_BACKGROUND_TASKS", "runtime", "Runtime Background Tasks", "boolean", null, "false", "info", false,
    "Background work in the request process", "backgroundTasks"),
  flag("GATEWAY_DISABLE_BACKGROUND_SERVICES", "runtime", "Disable Background Services", "boolean", null, "false", "caution", true,
    "No quota refresh, sync, sweeps"),
  flag("GATEWAY_RTK_TRUST_PROJECT_FILTERS", "runtime", "Trust Project Filters", "boolean", null, "false", "caution", false,
    "Project RTK filters without validation"),
  flag("GATEWAY_ENABLE_LIVE_WS", "runtime", "Live WebSocket", "boolean", null, "true", "info", true,
    "Port 20132"),
  flag("GATEWAY_CODEX_WS_ENABLED", "runtime", "Responses WebSocket", "boolean", null, "true", "info", false,
    "Allows the responses-over-WebSocket transport"),
  flag("GATEWAY_CODEX_APP_SERVER_ENABLED", "runtime", "App-Server Transport", "boolean", null, "true", "info", false,
    "Local JSON-RPC transport of one provider", "vendorClients"),
  flag("GATEWAY_EMERGENCY_FALLBACK", "runtime", "Emergency Fallback", "boolean", null, "true", "caution", false,
    "Free model when budget is used up"),
  flag("STREAM_RECOVERY_ENABLED", "runtime", "Stream Recovery", "boolean", null, "false", "caution", false,
    "Holds the first bytes shortly; a truncated stream is retried before any byte is released"),
  flag("STREAM_RECOVERY_MIDSTREAM_ENABLED", "runtime", "Mid-Stream Recovery", "boolean", null, "false", "danger", false,
    "Continues a stream that broke after bytes were sent, with the partial answer as prefix"),
  flag("STREAM_RECOVERY_TOOLCALL_ORDER_FIX", "runtime", "Tool-Call Safe Recovery", "boolean", null, "false", "info", false,
    "Never continues after a tool call was emitted"),
  flag("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED", "runtime", "Early-EOF Sibling Failover", "boolean", null, "false", "info", false,
    "Tries one sibling connection after an empty stream"),
  flag("MODEL_CATALOG_INCLUDE_NAMES", "runtime", "Model Names", "boolean", null, "true", "info", false,
    "Name field in /v1/models"),
  flag("MODELS_CATALOG_PREFIX_MODE", "runtime", "Catalog Prefix Mode", "enum", ["dual", "alias", "canonical"], "dual", "info", false,
    "Dual, alias, canonical"),
  flag("ARENA_ELO_SYNC_ENABLED", "runtime", "Arena ELO Sync", "boolean", null, "true", "info", false,
    "Task fitness from public rankings", "discovery"),
  flag("EXPOSE_CC_DISCOVERY_ALIASES", "runtime", "Discovery Aliases", "boolean", null, "false", "info", false,
    "Models are also listed and asked for as claude/<provider>/<model>, so that a coding client lists other vendors' models"),
  flag("NO_THINKING_ALIAS_ENABLED", "runtime", "No-Thinking Aliases", "boolean", null, "true", "info", false,
    "Lists and resolves no-thinking variants of thinking-capable models"),
  flag("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS", "runtime", "Disable Level Variants", "boolean", null, "false", "info", false,
    "No -low/-medium/-high ids"),
  flag("GATEWAY_CHAT_VIRTUAL_LANES", "runtime", "Virtual Lanes", "boolean", null, "false", "caution", true,
    "Keys with waiting requests have turns one after the other; the environment wins over the stored value"),
  flag("EXPOSE_FUNCTIONAL_GATEWAY_MIRRORS", "runtime", "Functional Mirrors", "boolean", null, "false", "info", false,
    "Ids through a credentialed pass-through provider when the owner has none", "privateModels"),
  flag("NEWAPI_AGGREGATOR_BALANCE", "runtime", "Aggregator Balance", "boolean", null, "false", "info", false,
    "Balance of aggregator nodes"),
  flag("SERVER_OWNED_TOOL_LOOP_ENABLED", "runtime", "Server Tool Loop", "boolean", null, "false", "caution", false,
    "Gateway-run tool calls are continued (non-streaming) until a client-usable answer"),
  flag("SEARCH_STATS_HIDE_DELETED_CONNECTIONS", "runtime", "Hide Deleted in Search Stats", "boolean", null, "false", "info", false,
    "Hide Deleted in Search Stats"),
  flag("FREE_BADGE_REQUIRES_PROVIDER_FREE_TIER", "runtime", "Strict Free Badge", "boolean", null, "false", "info", false,
    "Marks a model as free only where its provider has a free tier"),
  flag("RETRY_AFTER_PROVENANCE_ENABLED", "runtime", "Retry-After Provenance", "boolean", null, "false", "info", false,
    "Says on aggregated 429 and 503 replies whether Retry-After rests on a known time"),
  flag("PROTECTED_PRIORITY_INFRA_502_ENABLED", "runtime", "Protected Priority 502", "boolean", null, "false", "info", false,
    "Answers 502 when a protected priority target fails for infrastructure reasons"),
  flag("BATCH_AND_FILE_AUTO_CLEANUP_ENABLED", "runtime", "Batch and File Cleanup", "boolean", null, "false", "caution", false,
    "Removes finished batches and expired file contents on a schedule"),
  flag("AMBIGUOUS_401_SOFT_LOCKOUT", "runtime", "Ambiguous 401 Soft Lockout", "boolean", null, "false", "info", false,
    "An unclear 401 cools the connection instead of expiring it, at most three times an hour"),
  flag("OAUTH_LIVE_MODEL_DISCOVERY", "runtime", "OAuth Live Model Discovery", "boolean", null, "false", "info", false,
    "Model list of an OAuth provider is read from the provider", "discovery"),
  flag("POOLED_ACCOUNT_LEASE_ENABLED", "runtime", "Pooled Account Lease", "boolean", null, "false", "info", false,
    "A pooled account serves one request at a time; busy = 503 with Retry-After", "vendorClients"),
  flag("CLI_COMPAT_ALL", "cli", "CLI Compatibility", "boolean", null, "false", "info", true,
    "Client compatibility for all", "vendorClients"),
  flag("MODEL_ALIAS_COMPAT_ENABLED", "cli", "Model Alias Compatibility", "boolean", null, "false", "info", false,
    "Older alias names resolve", "privateModels"),
  flag("PRICING_SYNC_ENABLED", "cli", "Pricing Sync", "boolean", null, "false", "info", false,
    "Reads prices from PRICING_SYNC_SOURCES on a schedule"),
  flag("GATEWAY_AUTO_SYNC_CLI_PROFILES_A", "cli", "Auto-Sync CLI Profiles A", "boolean", null, "false", "caution", false,
    "Writes client profiles after a model sync; never changes the active one", "agents"),
  flag("GATEWAY_AUTO_SYNC_CLI_PROFILES_B", "cli", "Auto-Sync CLI Profiles B", "boolean", null, "false", "caution", false,
    "Writes client profiles after a model sync; never changes the active one", "agents"),
  flag("GATEWAY_DISABLE_LOCAL_HEALTHCHECK", "health", "Disable Local Health Check", "boolean", null, "false", "info", false,
    "Disable Local Health Check", "backgroundTasks"),
  flag("GATEWAY_DISABLE_TOKEN_HEALTHCHECK", "health", "Disable Token Health Check", "boolean", null, "false", "info", false,
    "No token sweep"),
  flag("SKILLS_SANDBOX_NETWORK_ENABLED", "health", "Sandbox Network", "boolean", null, "false", "caution", false,
    "Sandbox Network", "skillMarkets"),
  flag("PROXY_HEALTH_BLOCKED_RESETS_STREAK", "health", "Blocked Resets Streak", "boolean", null, "false", "info", false,
    "401/403/429 probe resets the failure streak; 5xx stays neutral", "proxies"),
  flag("DB_HEALTHCHECK_STARTUP_DEFERRED_ENABLED", "health", "Deferred DB Check", "boolean", null, "false", "info", false,
    "The schema of the database is checked after the start, and what differs is logged")
] as const

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
