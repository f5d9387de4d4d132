/** Requests of automatic routing (GET /api/analytics/auto-routing). Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { ComboCalls } from "#actors/ports/UsageStore.ts"
import { channelOf } from "#src/routing/auto/channel.ts"
import { routerOf } from "#src/routing/auto/routers.ts"

const topMax = 10

interface Kind {
  readonly strategy: string
  readonly tier: string
}

/** How a combo of the ledger routes by itself; null when it does not. Judged by the configuration of now. */
const kindsOf = (snapshot: Snapshot) => {
  const variant = snapshot.settings.get("autoRoutingDefaultVariant")
  const stored = new Map(snapshot.combos.map((combo) => [combo.name, combo]))
  return (name: string): Kind | null => {
    const channel = channelOf(name, typeof variant === "string" ? variant : "lkgp")
    if (channel !== null) return { strategy: routerOf(channel.config.routerStrategy), tier: channel.tier ?? "default" }
    const combo = stored.get(name)
    return combo?.strategy === "auto" ? { strategy: routerOf(combo.config.routerStrategy), tier: "default" } : null
  }
}

export const autoRouting = (snapshot: Snapshot, rows: ReadonlyArray<ComboCalls>) => {
  const kindOf = kindsOf(snapshot)
  const strategyBreakdown: Record<string, number> = {}
  const tierBreakdown: Record<string, number> = {}
  const providers = new Map<string, { calls: number; totalMs: number }>()
  let totalCalls = 0
  for (const { avgMs, calls, combo, provider } of rows) {
    const kind = kindOf(combo)
    if (kind === null) continue
    totalCalls += calls
    strategyBreakdown[kind.strategy] = (strategyBreakdown[kind.strategy] ?? 0) + calls
    tierBreakdown[kind.tier] = (tierBreakdown[kind.tier] ?? 0) + calls
    const known = providers.get(provider) ?? { calls: 0, totalMs: 0 }
    providers.set(provider, { calls: known.calls + calls, totalMs: known.totalMs + calls * avgMs })
  }
  const topProviders = Array.from(providers, ([provider, { calls, totalMs }]) => ({
    provider: shownProvider(snapshot, provider), calls, avgLatencyMs: totalMs / calls
  }))
    .sort((a, b) => b.calls - a.calls).slice(0, topMax)
  return { totalCalls, strategyBreakdown, tierBreakdown, topProviders }
}
