/**
 * Every environment variable the gateway reads, decoded once at start. One table: the decode, the error texts and the page
 * `docs/settings.md` come from it.
 */
import * as Path from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import { PASSWORD_MAXIMUM, PASSWORD_MINIMUM } from "#schemas/passwordLength.ts"
import * as Hosts from "#src/platform/gate/hosts.ts"
import * as IpRange from "#actors/keys/ipRange.ts"

/** Defaults that other pages state, too, ms. */
export const defaults = { lookUpMs: 1_000, redisTimeoutMs: 50 } as const

interface Variable<A> {
  readonly name: string
  readonly doc: string
  /** As the documentation shows it. */
  readonly fallback: string
  readonly expects: string
  readonly secret: boolean
  readonly read: (text: string | undefined) => A | Problem
}

class Problem {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Cut, because a value that went to the wrong variable may be long. */
const unusable = (name: string, value: string, expects: string): string => `${name}='${value.slice(0, 60)}' is not ${expects}`

const decoded = <A>(name: string, schema: Schema.Decoder<A>, fallback: A, expects: string, doc: string, shown?: string): Variable<A> => {
  const decode = Schema.decodeUnknownResult(schema)
  return {
    name, doc, expects, secret: false,
    fallback: shown ?? String(fallback),
    read: (text) => {
      if (text === undefined || text === "") return fallback
      const result = decode(text)
      // As a number, blanks are 0: a free port, or no deadline at all.
      const isBlank = Result.isSuccess(result) && typeof result.success === "number" && text.trim() === ""
      return Result.isSuccess(result) && !isBlank ? result.success : new Problem(unusable(name, text, expects))
    }
  }
}

const text = (name: string, fallback: string, doc: string) => decoded(name, Schema.String, fallback, "a text", doc)

const choice = <const L extends ReadonlyArray<string>>(name: string, values: L, fallback: L[number], doc: string): Variable<L[number]> =>
  decoded(name, Schema.Literals(values), fallback, `one of ${values.join(", ")}`, doc)

/** A choice of two words; `yes` is the word that turns it on. */
const toggle = (name: string, { no, yes }: { readonly yes: string; readonly no: string }, fallback: boolean, doc: string): Variable<boolean> => {
  const words = choice(name, [yes, no], fallback ? yes : no, doc)
  return {
    ...words,
    read: (text) => {
      const word = words.read(text)
      return word instanceof Problem ? word : word === yes
    }
  }
}
const onOff = { yes: "on", no: "off" }
const trueFalse = { yes: "true", no: "false" }

const whole = (name: string, fallback: number, least: number, most: number, unit: string, doc: string) =>
  decoded(
    name,
    Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(least), Schema.isLessThanOrEqualTo(most)),
    fallback, `a whole number of ${unit} from ${least} to ${most}`, doc, `${fallback}`
  )

const portNumber = (name: string, fallback: number, doc: string) =>
  decoded(
    name,
    Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0), Schema.isLessThanOrEqualTo(65_535)),
    fallback, "a port number from 0 to 65535", doc
  )

/** A number of ms that follows another setting while unset. */
const wholeOr = (name: string, shown: string, doc: string) =>
  decoded<number | null>(
    name,
    Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(0)),
    null, "a whole number of ms", doc, shown
  )

/** What a text must be. Its problem never quotes the value, which may hold a password or a token. */
interface Rule {
  readonly expects: string
  readonly fits: (value: string) => boolean
}

const anyText: Rule = { expects: "a text", fits: () => true }

const optional = (name: string, doc: string, { expects, fits }: Rule = anyText): Variable<string | null> => ({
  name, doc, expects, fallback: "unset", secret: false,
  read: (value) => value === undefined || value === "" ? null : fits(value) ? value : new Problem(`${name} is not ${expects}`)
})

const secret = (name: string, doc: string, rule: Rule = anyText): Variable<Redacted.Redacted<string> | null> => {
  const plain = optional(name, doc, rule)
  return {
    ...plain, secret: true,
    read: (text) => {
      const value = plain.read(text)
      return typeof value === "string" ? Redacted.make(value) : value
    }
  }
}

const isUrlOf = (protocols: ReadonlyArray<string>, value: string): boolean => {
  const url = value.includes("://") ? URL.parse(value) : null
  return url !== null && protocols.includes(url.protocol)
}

/** Only the first host of a list is part of a URL that can be parsed; a socket's directory is a percent-encoded host. */
const postgresRule: Rule = {
  expects: "a URL of Postgres: postgres://user:password@host[,host]:port/database, or postgresql://...",
  fits: (value) => isUrlOf(["postgres:", "postgresql:"], value.replace(/,[^/?@]*(?=[/?]|$)/, ""))
}
const redisRule: Rule = {
  expects: "a URL of Redis: redis://[user:password@]host:port[/database], or rediss://... for TLS",
  fits: (value) => isUrlOf(["redis:", "rediss:"], value)
}
const programRule: Rule = { expects: "an absolute path", fits: (value) => Path.isAbsolute(value) }
const httpRule: Rule = { expects: "an http or https URL", fits: (value) => isUrlOf(["http:", "https:"], value) }
const bucketRule: Rule = { expects: "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens", fits: (value) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value) }
const passwordRule: Rule = {
  expects: `a password of ${PASSWORD_MINIMUM} to ${PASSWORD_MAXIMUM} characters`,
  fits: (value) => value.length >= PASSWORD_MINIMUM && value.length <= PASSWORD_MAXIMUM
}

/** RFC 7518 section 3.2: an HS256 key has at least the 256 bits of its hash. */
const JWT_SECRET_BYTES = 32
const jwtSecretRule: Rule = {
  expects: `a secret of at least ${JWT_SECRET_BYTES} bytes, such as the output of: openssl rand -hex 32`,
  fits: (value) => Buffer.byteLength(value) >= JWT_SECRET_BYTES
}

/** No header carries another character to its reader, and spaces around a value are dropped. */
const apiKeyRule: Rule = { expects: "a key of visible ASCII characters without spaces, which clients can send in a header", fits: (value) => /^[\x21-\x7e]+$/.test(value) }

/** Comma-separated entries of one kind; spaces around them do not matter. */
const list = (name: string, doc: string, { expects, fits }: Rule): Variable<ReadonlyArray<string>> => ({
  name, doc, expects, fallback: "none", secret: false,
  read: (value) => {
    const entries = (value ?? "").split(",").map((entry) => entry.trim()).filter((entry) => entry !== "")
    const wrong = entries.find((entry) => !fits(entry))
    return wrong === undefined ? entries : new Problem(unusable(name, wrong, expects))
  }
})

const listOr = (name: string, fallback: ReadonlyArray<string>, doc: string, rule: Rule): Variable<ReadonlyArray<string>> => {
  const plain = list(name, doc, rule)
  return {
    ...plain, fallback: fallback.join(", "),
    read: (text) => {
      const entries = plain.read(text)
      return entries instanceof Problem || entries.length > 0 ? entries : fallback
    }
  }
}

const urlOr = (name: string, fallback: string, doc: string): Variable<string> => {
  const plain = optional(name, doc, httpRule)
  return { ...plain, fallback, read: (text) => plain.read(text) ?? fallback }
}

const sourceRule: Rule = { expects: "litellm or models.dev", fits: (entry) => SyncedModels.Source.literals.some((source) => source === entry) }

const hour = 3_600_000

const variables = {
  host: text("HOST", "127.0.0.1", "Address to listen on."),
  port: portNumber("PORT", 20128, "Port of the API and the dashboard; 0 picks a free one."),
  allowedHosts: list(
    "GATEWAY_ALLOWED_HOSTS",
    "Host names by which the gateway may be called, comma-separated; `*.example.com` means every name below it. Loopback names, HOST and the host of GATEWAY_PUBLIC_URL are always allowed. None: callers on other machines may use any name; callers on this machine may not. Set: no caller may use another name.",
    { expects: "a host name or IP address without a port, or *.name", fits: Hosts.isPattern }
  ),
  trustedProxies: list(
    "GATEWAY_TRUSTED_PROXIES",
    "Addresses and CIDR ranges of reverse proxies whose X-Forwarded-For or Forwarded header names the client, comma-separated.",
    { expects: "an IP address or CIDR range", fits: (entry) => IpRange.parseRange(entry) !== null }
  ),
  ownHops: whole("GATEWAY_OWN_HOPS", 0, 0, 3, "hops", "How often a call may come back to this gateway through its own provider nodes; one that comes back more often is refused with 508."),
  configFile: optional("GATEWAY_CONFIG", "Configuration file (docs/configuration-file.md). Unset: gateway.yaml in the working directory, if there is one."),
  dataDir: text("GATEWAY_DATA_DIR", "./data", "Directory of the embedded database, the usage journal and the generated secret."),
  databaseUrl: secret("DATABASE_URL", "Postgres server (postgres://...). Unset: an embedded Postgres in the data directory.", postgresRule),
  databasePool: whole("GATEWAY_DATABASE_POOL", 8, 1, 200, "connections", "Connections to the Postgres server."),
  lookUpMs: whole("GATEWAY_LOOKUP_TIMEOUT_MS", defaults.lookUpMs, 50, hour, "ms", "Longest wait of a request for a record that is not in memory (an unknown key, the first use of a limit, who calls the management API); then 503, while the look-up goes on."),
  secret: secret("GATEWAY_SECRET", "Master key of secrets at rest, at least 16 characters. Unset: generated into a 0600 file in the data directory."),
  previousSecrets: secret("GATEWAY_SECRET_PREVIOUS", "Comma-separated former master keys, so that `gateway rekey` can read what they sealed."),
  initialPassword: secret("INITIAL_PASSWORD", `First management password, ${PASSWORD_MINIMUM} to ${PASSWORD_MAXIMUM} characters. Unset on a first start: generated and shown once.`, passwordRule),
  jwtSecret: secret("JWT_SECRET", `Key of the session cookie, at least ${JWT_SECRET_BYTES} bytes. Unset: derived from the master key.`, jwtSecretRule),
  inputSanitizerThreshold: choice("INPUT_SANITIZER_BLOCK_THRESHOLD", ["low", "medium", "high"], "high", "INJECTION_GUARD_MODE=block refuses what is at least so severe."),
  masksCredentials: toggle("CREDENTIAL_REDACTION_ENABLED", trueFalse, false, "Keys and tokens in texts of requests and answers are masked."),
  secureCookie: choice("AUTH_COOKIE_SECURE", ["auto", "true", "false"], "auto", "Secure attribute of the session cookie; auto = under https."),
  gatewayApiKey: secret("GATEWAY_API_KEY", "A permanent API key with full inference access: visible ASCII characters, no spaces.", apiKeyRule),
  routerApiKey: secret("ROUTER_API_KEY", "The same under its older name.", apiKeyRule),
  mcpScopes: text("GATEWAY_MCP_SCOPES", "", "Scopes of MCP tools for callers that bring none: names, wildcards such as read:*, or readonly, full, monitor, agent; separated by commas."),
  mcpToolAllow: text("MCP_TOOL_ALLOW", "", "MCP tools that are offered, separated by commas; empty = all."),
  mcpToolDeny: text("MCP_TOOL_DENY", "", "MCP tools that are not offered; wins over MCP_TOOL_ALLOW."),
  tunnels: toggle("GATEWAY_TUNNELS", onOff, false, "Whether operators may start cloudflared, ngrok and tailscale on this node, which make the gateway public."),
  cloudflaredPath: optional("GATEWAY_CLOUDFLARED_PATH", "The program cloudflared; unset: the first one in PATH.", programRule),
  cloudflaredToken: secret("GATEWAY_CLOUDFLARED_TOKEN", "Token of a tunnel in Cloudflare's dashboard. Unset: a quick tunnel, whose address is another one each time."),
  ngrokPath: optional("GATEWAY_NGROK_PATH", "The program ngrok; unset: the first one in PATH.", programRule),
  ngrokToken: secret("GATEWAY_NGROK_AUTHTOKEN", "Token of an ngrok account. Unset: the one in ngrok's own configuration file."),
  tailscalePath: optional("GATEWAY_TAILSCALE_PATH", "The program tailscale, with tailscaled beside it; unset: the first ones in PATH.", programRule),
  mcpStdioServers: toggle("GATEWAY_MCP_STDIO_SERVERS", onOff, false, "Whether operators may set up MCP servers that are programs, which this node then runs."),
  skills: toggle("GATEWAY_SKILLS", onOff, false, "Whether this node runs the handlers of skills, each in a sandbox (docs/skills.md)."),
  skillsTimeoutMs: whole("GATEWAY_SKILLS_TIMEOUT_MS", 30_000, 100, 300_000, "ms", "Longest run of one handler."),
  plugins: toggle("GATEWAY_PLUGINS", onOff, false, "Whether this node runs plugins, each in a sandbox (docs/plugins.md)."),
  pluginsDir: optional("GATEWAY_PLUGINS_DIR", "Folder below which plugins may be installed from. Unset: only with their code in the call."),
  simulator: choice("GATEWAY_SIM_PROVIDER", ["auto", "true", "false"], "auto", "Built-in simulator as provider `sim`: auto = called by name always, listed while no real connection exists; true = listed always; false = off."),
  tlsCert: optional("GATEWAY_TLS_CERT", "Certificate file (PEM); with GATEWAY_TLS_KEY the gateway speaks https."),
  tlsKey: optional("GATEWAY_TLS_KEY", "Private key file (PEM)."),
  tlsPassphrase: secret("GATEWAY_TLS_PASSPHRASE", "Passphrase of the private key."),
  publicUrl: decoded<string | null>(
    "GATEWAY_PUBLIC_URL", Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/?#]+(\/[^\s?#]*)?$/)), null, "an http or https URL without a query",
    "The gateway's own address as browsers see it, for the redirects of single sign-on and of OAuth sign-ins.", "http://localhost:<PORT>"
  ),
  maxBodyBytes: whole("MAX_BODY_SIZE_BYTES", 10 * 1024 * 1024, 1024, 1024 * 1024 * 1024, "bytes", "Largest JSON request body; setting maxBodySizeMb overrides it."),
  heldBodyBytes: decoded<number | null>(
    "GATEWAY_MAX_HELD_BODY_BYTES",
    Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(1024 * 1024)), null, "a whole number of bytes from 1048576",
    "Bytes of request bodies that a process holds at once, arriving or not answered yet; beyond it requests are refused with 503 and Retry-After.", "a quarter of the heap limit"
  ),
  spoolBytes: whole("GATEWAY_MAX_SPOOL_BYTES", 4 * 1024 * 1024 * 1024, 1024 * 1024, 2 ** 50, "bytes", "Bytes of uploads that a process keeps in files of the data directory at once; beyond it uploads are refused with 503 and Retry-After."),
  requestTimeoutMs: wholeOr("REQUEST_TIMEOUT_MS", "unset", "Overrides FETCH_TIMEOUT_MS and STREAM_IDLE_TIMEOUT_MS."),
  fetchTimeoutMs: whole("FETCH_TIMEOUT_MS", 600_000, 0, 24 * hour, "ms", "Until the upstream's response head; 0 = no limit."),
  headersTimeoutMs: wholeOr("FETCH_HEADERS_TIMEOUT_MS", "FETCH_TIMEOUT_MS", "Until the response head, when it shall differ from FETCH_TIMEOUT_MS."),
  idleTimeoutMs: whole("STREAM_IDLE_TIMEOUT_MS", 600_000, 0, 24 * hour, "ms", "Between two events of a stream; 0 = no limit."),
  connectTimeoutMs: whole("FETCH_CONNECT_TIMEOUT_MS", 30_000, 1, hour, "ms", "DNS, TCP and TLS to the upstream."),
  publicIpUrl: decoded(
    "GATEWAY_PUBLIC_IP_URL", Schema.String.check(Schema.makeFilter((url: string) => /^https?:\/\//.test(url) && URL.canParse(url))), "https://api.ipify.org/?format=json",
    "an http or https URL", "Asked through a proxy by POST /api/settings/proxy/test; answers the caller's address as text or JSON."
  ),
  proxyConnectMs: whole("PROXY_FAST_FAIL_TIMEOUT_MS", 2_000, 1, hour, "ms", "TCP and TLS to an outbound proxy."),
  keepAliveTimeoutMs: whole("FETCH_KEEPALIVE_TIMEOUT_MS", 4_000, 1, hour, "ms", "How long an idle upstream connection is kept."),
  readinessTimeoutMs: whole("STREAM_READINESS_TIMEOUT_MS", 30_000, 0, hour, "ms", "From the response head to the first useful event of a stream; 0 = no limit."),
  sseComments: toggle("GATEWAY_SSE_COMMENTS", onOff, true, "Comment lines in event streams (heartbeats); off for clients that cannot read them."),
  heartbeatMs: whole("SSE_HEARTBEAT_INTERVAL_MS", 15_000, 0, hour, "ms", "A stream that was silent so long gets a heartbeat; 0 = none."),
  earlyKeepAliveMs: whole("GATEWAY_EARLY_KEEPALIVE_MS", 2_000, 0, hour, "ms", "A stream whose upstream was silent so long gets its head and a heartbeat; errors are frames from then on; 0 = never."),
  totalTimeoutMs: whole("GATEWAY_TOTAL_TIMEOUT_MS", 1_980_000, 0, 24 * hour, "ms", "A whole request over all its attempts; 0 = no limit."),
  slowReaderTimeoutMs: whole("GATEWAY_SLOW_READER_TIMEOUT_MS", 60_000, 1_000, hour, "ms", "A client that takes no byte for so long is cut."),
  defaultRatePerDay: whole("DEFAULT_RATE_LIMIT_PER_DAY", 0, 0, 1_000_000_000, "requests", "Requests per day of keys without rate limits of their own (and 5 times as many per week, 20 times per month); 0 = no limit. The keys of the environment have none."),
  emergencyModel: optional("GATEWAY_EMERGENCY_FALLBACK_MODEL", "Model for requests whose budget is used up (flag GATEWAY_EMERGENCY_FALLBACK); unset: a model with a price of 0 of a connected provider, if there is one."),
  pricingSyncSeconds: whole("PRICING_SYNC_INTERVAL", 86_400, 60, 30 * 86_400, "seconds", "Seconds between two readings of the sources of prices, while the flag PRICING_SYNC_ENABLED is on."),
  pricingSources: listOr("PRICING_SYNC_SOURCES", ["litellm"], "Sources of prices, comma-separated: litellm, models.dev. Of a model that several name, the first one's price counts.", sourceRule),
  litellmUrl: urlOr("GATEWAY_LITELLM_PRICES_URL", "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json", "Where the source litellm is read."),
  modelsDevUrl: urlOr("GATEWAY_MODELS_DEV_URL", "https://models.dev/api.json", "Where the source models.dev is read."),
  skillsmpUrl: optional("GATEWAY_SKILLSMP_URL", "List of the marketplace skillsmp (docs/skills.md). Unset: it is off, and nothing is called.", httpRule),
  skillsshUrl: optional("GATEWAY_SKILLSSH_URL", "The same for the marketplace skillssh.", httpRule),
  pluginsMarketUrl: optional("GATEWAY_PLUGINS_MARKET_URL", "List of the marketplace of plugins (docs/plugins.md). Unset: it is off, and nothing is called.", httpRule),
  modelListsEveryMs: whole("GATEWAY_MODEL_LISTS_REFRESH_MS", hour, 0, 30 * 24 * hour, "ms", "How often the model lists of provider nodes are read again; a new node's is read at once. 0 = only by POST /api/providers/{id}/sync-models."),
  toolLoopSteps: whole("GATEWAY_TOOL_LOOP_STEPS", 8, 1, 50, "turns", "Turns of one request in which the gateway runs tools for the model; after them the model answers without."),
  maxAttempts: whole("GATEWAY_MAX_ATTEMPTS", 6, 1, 100, "wire calls", "Upstream calls one request may cost."),
  drainForUsageMs: whole("GATEWAY_DRAIN_FOR_USAGE_MS", 10_000, 0, hour, "ms", "How long a stream is read on after its client left, under disconnectPolicy drain-for-usage."),
  cacheMaxSize: whole("SEMANTIC_CACHE_MAX_SIZE", 100, 0, 1_000_000, "answers", "Answers of the response cache in memory; setting semanticCacheMaxSize overrides it."),
  cacheMaxBytes: whole("SEMANTIC_CACHE_MAX_BYTES", 4 * 1024 * 1024, 0, 1024 * 1024 * 1024, "bytes", "Bytes of those answers."),
  repeatedFilesBytes: whole("GATEWAY_REPEATED_FILES_BYTES", 32 * 1024 * 1024, 0, 1024 * 1024 * 1024, "bytes", "Bytes of files in the making that are kept for repeats under their Idempotency-Keys; the repeat of a file beyond it makes a call of its own."),
  searchCacheTtlMs: whole("SEARCH_CACHE_TTL_MS", 300_000, 0, 30 * 24 * hour, "ms", "How long an answer of a search may be given again, 0 = not at all; providerSpecificData.cacheTTLMs of a connection overrides it."),
  webFetchRobots: choice("GATEWAY_WEB_FETCH_ROBOTS", ["ignore", "obey"], "ignore", "Whether the built-in reader of POST /v1/web/fetch asks a site's robots.txt first."),
  cacheTtlMs: whole("SEMANTIC_CACHE_TTL_MS", 1_800_000, 1_000, 30 * 24 * hour, "ms", "How long an answer may be given again; setting semanticCacheTTL overrides it."),
  shutdownTimeoutMs: whole("SHUTDOWN_TIMEOUT_MS", 30_000, 0, hour, "ms", "Grace of live streams after SIGTERM."),
  queueMaxWaitMs: wholeOr("RATE_LIMIT_MAX_WAIT_MS", "15000", "Default of requestQueue.maxWaitMs: the longest wait in the line of a connection; 0 = no request waits."),
  queueMaxDepth: wholeOr("RATE_LIMIT_MAX_QUEUE_DEPTH", "0", "Default of requestQueue.maxQueueDepth: requests in the line of one connection; 0 = no cap."),
  upstreamConnections: whole("GATEWAY_UPSTREAM_CONNECTIONS", 16_384, 1, 100_000, "sockets", "Sockets per upstream origin."),
  logLevel: choice("LOG_LEVEL", ["debug", "info", "warn", "error"], "info", "Least severe line that is logged."),
  logFormat: choice("LOG_FORMAT", ["auto", "json", "pretty"], "auto", "auto = pretty on a terminal, else JSON lines."),
  accessLog: choice("GATEWAY_ACCESS_LOG", ["off", "errors", "all"], "errors", "Which finished requests get a log line."),
  dashboard: toggle("GATEWAY_DASHBOARD", onOff, true, "The web page at /dashboard; off = its paths answer 404."),
  metricsAccess: choice("GATEWAY_METRICS_ACCESS", ["loopback", "all"], "loopback", "Who may read GET /metrics."),
  otlpEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", "OTLP/HTTP collector for traces and logs; unset = off.", httpRule),
  otlpHeaders: secret("OTEL_EXPORTER_OTLP_HEADERS", "Comma-separated name=value headers of the collector."),
  usageDays: whole("GATEWAY_USAGE_RETENTION_DAYS", 365, 0, 36_500, "days", "How long ledger rows are kept; 0 = for ever."),
  auditDays: whole("GATEWAY_AUDIT_RETENTION_DAYS", 365, 0, 36_500, "days", "How long the audit log and the changes of leases are kept; 0 = for ever."),
  responsesDays: whole("GATEWAY_RESPONSES_RETENTION_DAYS", 30, 1, 36_500, "days", "How long responses are kept whose request asked for it (store: true, or background: true)."),
  batchConcurrency: whole("GATEWAY_BATCH_CONCURRENCY", 4, 1, 1_000, "requests", "Requests of batches in flight at once, over all batches."),
  batchMaxLines: whole("GATEWAY_BATCH_MAX_LINES", 100_000, 1, 10_000_000, "requests", "Requests that one batch may have."),
  batchDays: whole("GATEWAY_BATCH_RETENTION_DAYS", 30, 1, 36_500, "days", "How long batches that are over are kept, while BATCH_AND_FILE_AUTO_CLEANUP_ENABLED is on; their files have a time of their own."),
  memoryDays: whole("GATEWAY_MEMORY_RETENTION_DAYS", 180, 0, 36_500, "days", "How long entries of memories are kept after their last change; 0 = for ever."),
  filesDir: optional("GATEWAY_FILES_DIR", "Directory of uploaded files, while there is no bucket; several nodes need one that they share. Unset: `files` in the data directory."),
  filesReserveMb: whole("GATEWAY_FILES_RESERVE_MB", 256, 0, 1_000_000_000, "MiB", "Free space of that directory's disk that uploads leave to the rest; an upload that would take it is refused with 507."),
  filesS3Bucket: optional("GATEWAY_FILES_S3_BUCKET", "Bucket of an S3-compatible service that keeps uploaded files for all nodes; needs the two keys. Unset: the directory.", bucketRule),
  filesS3Endpoint: optional("GATEWAY_FILES_S3_ENDPOINT", "Address of that service; the bucket follows as the first part of the path. Unset: Amazon's, of the region.", httpRule),
  filesS3Region: text("GATEWAY_FILES_S3_REGION", "us-east-1", "Region that requests to the bucket are signed for."),
  filesS3AccessKeyId: secret("GATEWAY_FILES_S3_ACCESS_KEY_ID", "Access key of the bucket."),
  filesS3SecretAccessKey: secret("GATEWAY_FILES_S3_SECRET_ACCESS_KEY", "Secret of that access key."),
  filesS3Prefix: text("GATEWAY_FILES_S3_PREFIX", "gateway-files/", "Before the id of each file in the bucket."),
  machineId: optional("GATEWAY_NODE_ID", "Name of this node; unset: derived from host and data directory."),
  workers: whole("GATEWAY_WORKERS", 1, 1, 256, "processes", "Processes on one port; more than one needs DATABASE_URL and REDIS_URL."),
  worker: whole("GATEWAY_WORKER", 0, 0, 256, "processes", "Set by the gateway itself in each of its GATEWAY_WORKERS processes: which one it is; 0 = the only one."),
  leaseTtlMs: whole("GATEWAY_EXCLUSIVE_LEASE_TTL_MS", 120_000, 0, Number.MAX_SAFE_INTEGER, "ms", "How long a session lease lives after its last renewal; kept between 1000 and 1800000."),
  issuesRepository: decoded<string | null>(
    "GATEWAY_ISSUES_REPO", Schema.String.check(Schema.isPattern(/^[\w.-]+\/[\w.-]+$/)), null, "owner/name",
    "Repository in which POST /v1/issues/report files issues; needs GATEWAY_ISSUES_TOKEN. Unset: reports are kept in the audit log only.", "unset"
  ),
  issuesToken: secret("GATEWAY_ISSUES_TOKEN", "Token that may create issues there."),
  issuesApi: decoded(
    "GATEWAY_ISSUES_API_URL", Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s?#]*[^\s/?#]$/)), "https://api.github.com", "an http or https URL without a last slash",
    "Address of the repository's REST API."
  ),
  livePort: portNumber("LIVE_WS_PORT", 20132, "Second port of live events, which are on the port of the API, too (/api/live); 0 = none."),
  liveHost: text("LIVE_WS_HOST", "127.0.0.1", "Address that the second port of live events listens on."),
  liveAllowedOrigins: list("LIVE_WS_ALLOWED_ORIGINS", "Origins of pages, beside the gateway's own, that may listen to live events with a signed-in browser, comma-separated.", {
    expects: "an origin such as https://example.com", fits: (entry) => URL.parse(entry)?.origin === entry
  }),
  redisUrl: secret("REDIS_URL", "Redis server (redis://, rediss://) for shared state of several processes or nodes.", redisRule),
  redisTimeoutMs: whole("GATEWAY_REDIS_TIMEOUT_MS", defaults.redisTimeoutMs, 5, 60_000, "ms", "How long a call to Redis may take before the gateway goes on without it, as GET /api/health/degradation says per feature."),
  redisPrefix: text("GATEWAY_REDIS_PREFIX", "gateway:", "Before every key and channel in Redis, so that several deployments may share one server.")
} as const

/** Every variable that is read here. */
export const names: ReadonlyArray<string> = Object.values(variables).map(({ name }) => name)

export type Values = { readonly [K in keyof typeof variables]: (typeof variables)[K] extends Variable<infer A> ? A : never }

/** The decoded environment, and the environment itself for flags and provider keys. */
export class Settings extends Context.Service<Settings, Values & {
  readonly environment: Readonly<Record<string, string | undefined>>
}>()("gateway/Settings") {}

/** One or more variables cannot be used; every problem is named, so that one look mends them all. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", {
  problems: Schema.Array(Schema.String),
  message: Schema.String
}) {}

export const decode = (environment: Readonly<Record<string, string | undefined>>): Result.Result<Values, SettingsError> => {
  const problems: Array<string> = []
  const values: Record<string, unknown> = {}
  for (const [key, variable] of Object.entries(variables)) {
    const value: unknown = variable.read(environment[variable.name])
    if (value instanceof Problem) problems.push(value.text)
    else values[key] = value
  }
  for (const flag of FlagCatalogue.catalogue) {
    const value = environment[flag.key]
    if (value === undefined || value === "") continue
    const read = FlagCatalogue.read(flag, value)
    if (read === null) problems.push(unusable(flag.key, value, FlagCatalogue.expects(flag)))
  }
  const v = values as Values
  if (v.secret !== undefined && v.secret !== null && Redacted.value(v.secret).length < 16) problems.push("GATEWAY_SECRET is shorter than 16 characters")
  if ((v.tlsCert === null) !== (v.tlsKey === null)) problems.push("GATEWAY_TLS_CERT and GATEWAY_TLS_KEY must be set together")
  if (typeof v.filesS3Bucket === "string" && (v.filesS3AccessKeyId === null || v.filesS3SecretAccessKey === null)) {
    problems.push("GATEWAY_FILES_S3_BUCKET needs GATEWAY_FILES_S3_ACCESS_KEY_ID and GATEWAY_FILES_S3_SECRET_ACCESS_KEY")
  }
  const missing = [...(v.databaseUrl === null ? ["DATABASE_URL"] : []), ...(v.redisUrl === null ? ["REDIS_URL"] : [])]
  if (v.workers > 1 && missing.length > 0) {
    problems.push(`GATEWAY_WORKERS=${v.workers} needs a Postgres and a Redis server that all processes share: set ${missing.join(" and ")}, or GATEWAY_WORKERS=1`)
  }
  return problems.length === 0
    ? Result.succeed(v)
    : Result.fail(new SettingsError({ problems, message: `The environment cannot be used:\n  ${problems.join("\n  ")}` }))
}

/** `environment` is process.env over the `.env` file, merged by the caller. */
export const layer = (environment: Readonly<Record<string, string | undefined>>) =>
  Layer.effect(Settings, Effect.map(Effect.fromResult(decode(environment)), (values) => ({ ...values, environment })))

/** The table of `docs/settings.md`. */
export const markdown = (): string => {
  const rows = Object.values(variables).map((v) => `| ${v.name} | ${v.fallback.replaceAll("|", "\\|")} | ${v.doc.replaceAll("|", "\\|")} |`)
  return ["| variable | default | meaning |", "|---|---|---|", ...rows].join("\n")
}
