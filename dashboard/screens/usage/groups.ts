/** Use by model, provider, key or connection, beside the period before. Pure. */
import type { Answer } from "../../api/contract.ts"

export const groups = { model: "Model", provider: "Provider", key: "Key", account: "Connection" } as const
export type GroupName = keyof typeof groups

export type Analytics = Answer<"GET /api/usage/analytics">

export interface Group {
  readonly id: string
  readonly word: string
  readonly totals: Pick<Analytics["summary"], "requests" | "promptTokens" | "completionTokens" | "cost">
  /** What the explorer of requests filters by to show the rows behind the numbers; null where it cannot. */
  readonly filter: { readonly model?: string; readonly provider?: string; readonly key?: string; readonly account?: string } | null
}

const groupsOf = (analytics: Analytics, by: GroupName): ReadonlyArray<Group> => {
  switch (by) {
    case "model":
      return analytics.byModel.map((row) => ({ id: `${row.provider}/${row.model}`, word: `${row.provider}/${row.model}`, totals: row, filter: { model: row.model, provider: row.provider } }))
    case "provider":
      return analytics.byProvider.map((row) => ({ id: row.provider, word: row.provider, totals: row, filter: { provider: row.provider } }))
    case "key":
      return analytics.byApiKey.map((row) => ({ id: row.apiKeyId ?? "", word: row.apiKeyId === null ? "no key" : row.name, totals: row, filter: row.apiKeyId === null ? null : { key: row.apiKeyId } }))
    case "account":
      return analytics.byAccount.map((row) => ({ id: row.connectionId, word: row.account === "none" ? "no connection" : row.account, totals: row, filter: row.connectionId === "none" ? null : { account: row.connectionId } }))
  }
}

const nothing = { requests: 0, promptTokens: 0, completionTokens: 0, units: null, cost: 0 }

/** With what each cost before; one that has only a past is there, too. Most cost first. */
export const compared = (now: Analytics, before: Analytics | undefined, by: GroupName): ReadonlyArray<Group & { readonly before: Group["totals"] | null }> => {
  const past = new Map((before === undefined ? [] : groupsOf(before, by)).map((group) => [group.id, group]))
  const rows = groupsOf(now, by).map((group) => {
    const known = past.get(group.id)
    past.delete(group.id)
    return { ...group, before: before === undefined ? null : known?.totals ?? nothing }
  })
  return [...rows, ...[...past.values()].map((group) => ({ ...group, totals: nothing, before: group.totals }))]
    .sort((a, b) => b.totals.cost - a.totals.cost || b.totals.requests - a.totals.requests || (b.before?.cost ?? 0) - (a.before?.cost ?? 0))
}

/** `+20%` of a number against what it was before; null where that says nothing. */
export const change = (now: number, before: number): string | null => {
  if (before === 0) return now === 0 ? null : "new"
  const share = (now - before) / before * 100
  return `${share > 0 ? "+" : share < 0 ? "−" : "±"}${Math.abs(share) >= 10 ? Math.abs(share).toFixed(0) : Math.abs(share).toFixed(1)}%`
}
