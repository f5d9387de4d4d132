/** What came of the pictures of one request: for its model, its client, the log and the metrics. Pure. */
import type { Client } from "#actors/request/Inbound.ts"
import { headedClient } from "#src/inference/lane/stages/headedClient.ts"
import { formatCost } from "#src/platform/accounting/cost.ts"
import type { Bridge } from "./bridge.ts"
import type { Description } from "./Descriptions.ts"
import type { Asked } from "./questions.ts"

export interface Report {
  /** What the model reads in the place of each picture. */
  readonly texts: ReadonlyArray<string>
  /** Pictures by what came of them; `remembered` ones had been described before. */
  readonly counts: { readonly described: number; readonly remembered: number; readonly unavailable: number; readonly leftOut: number }
  /** Why the first one that is unavailable is; null when none is. */
  readonly why: string | null
  readonly costUsd: number
}

const outcomeOf = (description: Description | undefined): keyof Report["counts"] =>
  description === undefined ? "leftOut" : description._tag === "Unavailable" ? "unavailable" : description.isNew ? "described" : "remembered"

export const of = ({ places }: Asked, { most }: Bridge, descriptions: ReadonlyArray<Description>): Report => {
  const counts = { described: 0, remembered: 0, unavailable: 0, leftOut: 0 }
  const texts = places.map((place, index) => {
    const description = descriptions[place]
    counts[outcomeOf(description)]++
    const said = description === undefined ? `(not described: the gateway describes ${most} pictures of a request, the last ones)`
      : description._tag === "Unavailable" ? "(unavailable: the picture could not be described)"
      : description.text
    return `[Image ${index + 1}]: ${said}`
  })
  const unavailable = descriptions.find((description) => description._tag === "Unavailable")
  return { texts, counts, why: unavailable === undefined ? null : unavailable.why, costUsd: descriptions.reduce((sum, { costUsd }) => sum + costUsd, 0) }
}

const HEADER = "X-Gateway-Modality-Bridge"
const COST = "x-gateway-response-cost"

/** `describe; described=2; unavailable=1`; what was remembered is described, too. */
export const headerOf = ({ counts: { described, leftOut, remembered, unavailable } }: Report): string =>
  ["describe", `described=${described + remembered}`, ...unavailable === 0 ? [] : [`unavailable=${unavailable}`], ...leftOut === 0 ? [] : [`left-out=${leftOut}`]].join("; ")

/** The client, which is told what came of its pictures, and what the whole request cost. */
export const told = (client: Client, report: Report): Client => {
  const costing = (headers: ReadonlyArray<string>): ReadonlyArray<string> => report.costUsd === 0 ? headers
    : headers.map((one, i) => i % 2 === 1 && headers[i - 1]?.toLowerCase() === COST ? formatCost(Number(one) + report.costUsd) : one)
  return toldWay(client, headerOf(report), costing)
}

/** The client, which is told what became of a request with pictures. */
export const toldWay = (client: Client, way: string, costing: (headers: ReadonlyArray<string>) => ReadonlyArray<string> = (headers) => headers): Client =>
  headedClient(client, (headers) => [...costing(headers), HEADER, way])
