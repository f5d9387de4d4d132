/** The measured pairs as compact tables: one line per upstream family, one column per client's format. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { EventCost, PromptCost } from "./measure.ts"

const short: Readonly<Record<FormatName, string>> = {
  "chat-completions": "chat", "completions": "compl", "messages": "messages", "responses": "responses", "generateContent": "genContent", "local-model-server": "local"
}

const faces = Object.keys(short) as ReadonlyArray<FormatName>
const width = 13

const header = (first: string, ...others: ReadonlyArray<string>): string => first.padEnd(26) + others.map((one) => one.padStart(12)).join("") + faces.map((face) => short[face].padStart(width)).join("")

const groups = <Item>(items: ReadonlyArray<Item>, keyOf: (item: Item) => string): ReadonlyArray<ReadonlyArray<Item>> => [...Map.groupBy(items, keyOf).values()]

/** Extra microseconds per event; in brackets the best round of the translation. */
export const eventLines = (costs: ReadonlyArray<EventCost>): ReadonlyArray<string> =>
  groups(costs, (cost) => `${cost.kind} ${cost.perChunk}`).flatMap((table) => [
    "",
    header(`${table[0]?.kind}, ${table[0]?.perChunk} per chunk`, "pass-through"),
    ...groups(table, (cost) => cost.family).map((row) =>
      `  ${(row[0]?.family ?? "").padEnd(24)}${(row[0]?.passMedian ?? Number.NaN).toFixed(2).padStart(12)}` +
      faces.map((face) => {
        const cost = row.find((each) => each.face === face)
        return (cost === undefined ? "-" : `+${cost.extra.toFixed(2)} (${cost.best.toFixed(2)})`).padStart(width)
      }).join("")
    )
  ])

/** (parse + translate) / parse; on the diagonal the edit of a body that is forwarded. Before them, what JSON.stringify alone would add. */
export const promptLines = (costs: ReadonlyArray<PromptCost>): ReadonlyArray<string> =>
  groups(costs, (cost) => `${cost.shape} ${Math.round(cost.bytes / 3e5)}`).flatMap((table) => [
    "",
    header(`${table[0]?.shape}, ${Math.round((table[0]?.bytes ?? 0) / 1000)} kB`, "parse us", "rewritten"),
    ...groups(table, (cost) => cost.family).map((row) =>
      `  ${(row[0]?.family ?? "").padEnd(24)}${(row[0]?.parse ?? Number.NaN).toFixed(0).padStart(12)}${(row[0]?.rewritten ?? Number.NaN).toFixed(2).padStart(12)}` +
      faces.map((face) => {
        const cost = row.find((each) => each.face === face)
        return (cost === undefined ? "-" : cost.ratio.toFixed(2)).padStart(width)
      }).join("")
    )
  ])
