/**
 * What each tier of a request costs: samples of V8's profilers, charged to the nearest function of ours on their stack, so that
 * Node's and Effect's work counts for the tier that asked for it.
 */
import { root } from "#bench/http/servers/processes.ts"

/** In the order in which a request meets them; the last three are not code of ours. */
export const tiers = [
  "socket", "auth", "body", "plan", "breaker", "limits", "journal", "upstream", "tap", "headers", "metrics", "log", "row", "actor",
  "collector", "native", "rest"
] as const

export type Tier = typeof tiers[number]

export const tierTitles: Readonly<Record<Tier, string>> = {
  socket: "client socket, in and out",
  auth: "key and admission",
  body: "request body: parse and splice",
  plan: "model resolution and plan",
  breaker: "breaker, cooldown, lease",
  limits: "limits and quotas",
  journal: "ledger and journal",
  upstream: "upstream socket, out and in",
  tap: "answer: tap, usage, cost",
  headers: "headers of answer and call",
  metrics: "metrics",
  log: "log and traces",
  row: "row into the store",
  actor: "lane, request actor, fiber",
  collector: "garbage collector",
  native: "kernel and native code without a caller",
  rest: "everything else"
}

/** By the path of the source; the first that fits. */
const rules: ReadonlyArray<readonly [RegExp, Tier]> = [
  [/^src\/(?:platform\/server\/responseHead|inference\/lane\/gatewayHeaders)|^actors\/request\/steps\/requestHeaders/, "headers"],
  [/^src\/(?:platform\/(?:server|gate)\/|FrontDoor|inferenceRoutes)/, "socket"],
  [/^src\/(?:inference\/lane\/(?:services\/Admission|bearerKey)|features\/keys\/|platform\/secrets\/)/, "auth"],
  [/^src\/inference\/(?:lane\/(?:bodies\/|Intake|PlannedRequest)|conversations\/(?:ownBytes|encodeJob|ConversationEncoding))/, "body"],
  [/^src\/(?:routing\/|providers\/|inference\/lane\/(?:services\/CurrentRouter|RouteReport))/, "plan"],
  [/^(?:actors\/(?:resilience|lease)\/|src\/features\/(?:resilience|leases)\/)/, "breaker"],
  [/^(?:actors\/limits\/|src\/features\/(?:limits|quotas)\/)/, "limits"],
  [/^src\/(?:features\/usage\/|platform\/(?:postgres\/|accounting\/(?:Delivery|Backlog|Retention)))/, "row"],
  [/^src\/platform\/accounting\/(?:journal\/|JournaledLedger|LedgerCore|AttemptTable)/, "journal"],
  [/^src\/platform\/upstream\//, "upstream"],
  [/^src\/(?:wire\/|platform\/accounting\/)/, "tap"],
  [/^src\/platform\/telemetry\/(?:Metrics|GatewayTelemetry|readings|knownModels|genAi)/, "metrics"],
  [/^src\/platform\/telemetry\//, "log"],
  [/^(?:actors|schemas|src)\//, "actor"]
]

export interface Frame {
  readonly functionName: string
  readonly url: string
}

/** The tier of a function itself; null when its caller's counts. */
export const tierOf = ({ functionName, url }: Frame): Tier | null => {
  if (functionName === "(garbage collector)") return "collector"
  if (functionName === "(program)") return "native"
  const place = url.startsWith(`file://${root}/`) ? url.slice(root.length + 8) : ""
  return rules.find(([pattern]) => pattern.test(place))?.[1] ?? null
}

/** The profilers' own work, and waiting: no tier pays for it. */
const isFree = ({ functionName, url }: Frame): boolean => functionName === "(idle)" || url === `file://${root}/bench/http/tiers/Probe.ts`

export interface CpuTree {
  readonly nodes: ReadonlyArray<{ readonly id: number; readonly callFrame: Frame; readonly children?: ReadonlyArray<number> }>
  readonly samples?: ReadonlyArray<number>
  readonly timeDeltas?: ReadonlyArray<number>
}

export interface HeapTree {
  readonly callFrame: Frame & { readonly lineNumber?: number }
  readonly selfSize: number
  readonly children: ReadonlyArray<HeapTree>
}

export type Shares = Readonly<Record<Tier, number>>

const none = (): Record<Tier, number> => Object.fromEntries(tiers.map((tier) => [tier, 0])) as Record<Tier, number>

/** Microseconds by tier. */
export const cpuByTier = (profile: CpuTree): Shares => {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const tierById = new Map<number, Tier>()
  const visit = (id: number, above: Tier): void => {
    const node = nodes.get(id)
    if (node === undefined || isFree(node.callFrame)) return
    const tier = tierOf(node.callFrame) ?? above
    tierById.set(id, tier)
    for (const child of node.children ?? []) visit(child, tier)
  }
  const top = profile.nodes[0]
  if (top !== undefined) visit(top.id, "rest")
  const micros = none()
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const tier = tierById.get(id)
    if (tier !== undefined) micros[tier] += Math.max(0, profile.timeDeltas?.[index] ?? 0)
  }
  return micros
}

/** Allocated bytes by tier. */
export const bytesByTier = (top: HeapTree): Shares => {
  const bytes = none()
  const visit = (node: HeapTree, above: Tier): void => {
    if (isFree(node.callFrame)) return
    const tier = tierOf(node.callFrame) ?? above
    bytes[tier] += node.selfSize
    for (const child of node.children) visit(child, tier)
  }
  visit(top, "rest")
  return bytes
}

export interface Site {
  readonly where: string
  readonly bytes: number
}

/** The functions that allocate most themselves, largest first. */
export const allocationSites = (top: HeapTree): ReadonlyArray<Site> => {
  const bytes = new Map<string, number>()
  const visit = ({ callFrame, children, selfSize }: HeapTree): void => {
    if (isFree(callFrame)) return
    const place = callFrame.url.replace(`file://${root}/`, "").replace(/^(?:.*\/)?node_modules\//, "")
    const where = `${callFrame.functionName === "" ? "(anonymous)" : callFrame.functionName} ${place}${callFrame.lineNumber === undefined ? "" : `:${callFrame.lineNumber + 1}`}`
    bytes.set(where, (bytes.get(where) ?? 0) + selfSize)
    for (const child of children) visit(child)
  }
  visit(top)
  return [...bytes].map(([where, total]) => ({ where, bytes: total })).sort((a, b) => b.bytes - a.bytes)
}

export const total = (shares: Shares): number => tiers.reduce((sum, tier) => sum + shares[tier], 0)
