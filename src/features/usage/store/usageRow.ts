/**
 * Brings ledger rows into a form that Postgres always takes. One odd value (a NaN cost, an absurd token count that an
 * upstream reported, a NUL in a model name that a client sent) must not keep a whole batch out of the ledger.
 */
import type { LedgerRow, Phases } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"
import { stored } from "#src/platform/postgres/text.ts"

/** numeric(20,10) holds ten digits before the point. */
const maxCost = 9_999_999_999
const maxInt = 2_147_483_647

const bounded = (value: number, max: number): number =>
  Number.isFinite(value) ? Math.min(Math.max(value, -max), max) : value === Infinity ? max : 0

const whole = (value: number, max = Number.MAX_SAFE_INTEGER): number => Math.round(bounded(value, max))

const storedOrNull = (text: string | null): string | null => text === null ? null : stored(text)

const isWhole = Number.isSafeInteger

const numbersFit = (row: LedgerRow): boolean =>
  isWhole(row.startedAt) && isWhole(row.settledAt) && isWhole(row.tokensIn) && isWhole(row.tokensOut)
  && isWhole(row.tokensCacheRead) && isWhole(row.tokensCacheCreation) && isWhole(row.tokensReasoning)
  && Math.abs(row.attempt) <= maxInt && Math.abs(row.upstreamStatus) <= maxInt && Math.abs(row.status) <= maxInt
  && Math.abs(row.clientStatus) <= maxInt && isWhole(row.clientStatus)
  && isWhole(row.attempt) && isWhole(row.upstreamStatus) && isWhole(row.status)
  && Math.abs(row.costUsd) <= maxCost && Number.isFinite(row.latencyMs)
  && (row.ttftMs === null || Number.isFinite(row.ttftMs))
  && (row.tokensCompressed === null || isWhole(row.tokensCompressed))
  && (row.units === null || Units.fit(row.units))

const mended = (row: LedgerRow): LedgerRow => ({
  ...row,
  attemptId: stored(row.attemptId),
  requestId: stored(row.requestId),
  nodeId: stored(row.nodeId),
  endpoint: stored(row.endpoint),
  requestedModel: stored(row.requestedModel),
  provider: stored(row.provider),
  model: stored(row.model),
  connectionId: storedOrNull(row.connectionId),
  apiKeyId: storedOrNull(row.apiKeyId),
  apiKeyName: storedOrNull(row.apiKeyName),
  combo: storedOrNull(row.combo),
  sessionTag: storedOrNull(row.sessionTag),
  sourceFormat: stored(row.sourceFormat),
  targetFormat: stored(row.targetFormat),
  errorCode: storedOrNull(row.errorCode),
  proxyId: storedOrNull(row.proxyId),
  phase: storedOrNull(row.phase),
  attempt: whole(row.attempt, maxInt),
  upstreamStatus: whole(row.upstreamStatus, maxInt),
  status: whole(row.status, maxInt),
  clientStatus: whole(row.clientStatus, maxInt),
  startedAt: whole(row.startedAt),
  settledAt: whole(row.settledAt),
  tokensIn: whole(row.tokensIn),
  tokensOut: whole(row.tokensOut),
  tokensCacheRead: whole(row.tokensCacheRead),
  tokensCacheCreation: whole(row.tokensCacheCreation),
  tokensReasoning: whole(row.tokensReasoning),
  units: Units.possible(row.units),
  costUsd: bounded(row.costUsd, maxCost),
  latencyMs: bounded(row.latencyMs, Number.MAX_VALUE),
  ttftMs: row.ttftMs === null ? null : bounded(row.ttftMs, Number.MAX_VALUE),
  tokensCompressed: row.tokensCompressed === null ? null : whole(row.tokensCompressed)
})

/** Fields that most rows of a batch share; a batch brings each combination of them once. */
const kindFields = [
  "attempt", "final", "nodeId", "endpoint", "requestedModel", "provider", "model", "connectionId", "apiKeyId", "apiKeyName", "combo",
  "sourceFormat", "targetFormat", "stream", "outcome", "upstreamStatus", "status", "clientStatus", "errorCode", "phase", "estimated", "units", "unpriced",
  "proxyId"
] as const satisfies ReadonlyArray<keyof LedgerRow>
type KindField = typeof kindFields[number]

/** Types of the fields that a kind has, by field. */
export const kindTypes: Readonly<Record<KindField, string>> = {
  attempt: "integer", final: "boolean", nodeId: "text", endpoint: "text", requestedModel: "text", provider: "text", model: "text",
  connectionId: "text", apiKeyId: "text", apiKeyName: "text", combo: "text", sourceFormat: "text", targetFormat: "text",
  stream: "boolean", outcome: "text", upstreamStatus: "integer", status: "integer", clientStatus: "integer", errorCode: "text", phase: "text", estimated: "boolean",
  units: "jsonb", unpriced: "boolean", proxyId: "text"
}

type ColumnField = Exclude<keyof LedgerRow, KindField>

/** Types of the fields that each row has for itself, by field, in the order of the parameters. */
export const columnTypes: Readonly<Record<ColumnField, string>> = {
  attemptId: "text", requestId: "text", sessionTag: "text", startedAt: "bigint", settledAt: "bigint", tokensIn: "bigint",
  tokensOut: "bigint", tokensCacheRead: "bigint", tokensCacheCreation: "bigint", tokensReasoning: "bigint", costUsd: "numeric",
  latencyMs: "double precision", ttftMs: "double precision", phases: "jsonb", tokensCompressed: "bigint"
}

/** A list without names and quotes: every row has one, and it goes through the array literal as it is. Whole ms. */
const packed = ({ before, end, head, limits, queue, sent }: Phases): string =>
  JSON.stringify([whole(before), whole(queue), whole(limits), sent === null ? null : whole(sent), head === null ? null : whole(head), whole(end)])

/** As `packed` wrote it; null when it was written by something else. */
export const unpacked = (list: unknown): Phases | null => {
  if (!Array.isArray(list) || list.length < 6) return null
  const [before, queue, limits, sent, head, end] = list as ReadonlyArray<number>
  return { before, queue, limits, sent, head, end } as Phases
}

/** Reads of their own, because one read by name for all fields costs five times as much. */
const columnReads: Readonly<Record<ColumnField, (row: LedgerRow) => string | number | null>> = {
  attemptId: (row) => row.attemptId, requestId: (row) => row.requestId, sessionTag: (row) => row.sessionTag,
  startedAt: (row) => row.startedAt, settledAt: (row) => row.settledAt, tokensIn: (row) => row.tokensIn,
  tokensOut: (row) => row.tokensOut, tokensCacheRead: (row) => row.tokensCacheRead,
  tokensCacheCreation: (row) => row.tokensCacheCreation, tokensReasoning: (row) => row.tokensReasoning,
  costUsd: (row) => row.costUsd, latencyMs: (row) => row.latencyMs, ttftMs: (row) => row.ttftMs, phases: (row) => row.phases === null ? null : packed(row.phases),
  tokensCompressed: (row) => row.tokensCompressed
}
const reads = Object.keys(columnTypes).map((field) => columnReads[field as ColumnField])

/** Rows that a turn of the event loop may encode. */
export const SLICE_ROWS = 250
/** Places in the table of kinds, twice as many as rows in a batch. */
const PLACES = 2048

/** Two units of a text and its length tell most texts apart. */
const mix = (hash: number, text: string | null): number => {
  if (text === null || text.length === 0) return Math.imul(hash ^ 1, 0x9e3779b1)
  const last = text.length - 1
  const mixed = Math.imul(hash ^ (text.length << 16) ^ (text.charCodeAt(last) << 8) ^ text.charCodeAt(last >>> 1), 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}

const hashOf = (row: LedgerRow): number =>
  mix(mix(mix(mix(row.status ^ (row.attempt << 12) ^ hashOfUnits(row.units), row.model), row.connectionId), row.apiKeyId), row.errorCode) & (PLACES - 1)

const hashOfUnits = (units: LedgerRow["units"]): number => {
  let sum = 0
  if (units !== null) for (const amount of Object.values(units)) sum += amount
  return Math.imul(sum * 1_000, 0x9e3779b1)
}

const isSameKind = (a: LedgerRow, b: LedgerRow): boolean =>
  a.attempt === b.attempt && a.final === b.final && a.nodeId === b.nodeId && a.endpoint === b.endpoint
  && a.requestedModel === b.requestedModel && a.provider === b.provider && a.model === b.model && a.connectionId === b.connectionId
  && a.apiKeyId === b.apiKeyId && a.apiKeyName === b.apiKeyName && a.combo === b.combo && a.sourceFormat === b.sourceFormat
  && a.targetFormat === b.targetFormat && a.stream === b.stream && a.outcome === b.outcome && a.upstreamStatus === b.upstreamStatus
  && a.status === b.status && a.clientStatus === b.clientStatus && a.errorCode === b.errorCode && a.phase === b.phase && a.estimated === b.estimated
  && a.unpriced === b.unpriced && a.proxyId === b.proxyId && Units.same(a.units, b.units)

/** Escapes that JSON allows and Postgres text does not: NUL and lone surrogates. Rare, and a false alarm only costs time. */
const suspicious = /\\u(?:0000|d[89a-f])/i

const elementOf = (value: string | number | null): string =>
  typeof value === "string" ? `"${stored(value).replace(/["\\]/g, "\\$&")}"` : String(value)

/** The inside of an array literal. It differs from JSON's only where there is something to escape. */
const elementsOf = (values: ReadonlyArray<string | number | null>): string => {
  const json = JSON.stringify(values)
  return json.includes("\\") ? values.map(elementOf).join(",") : json.slice(1, -1)
}

/** A batch on its way into parameters: an array literal per column, the kind of each row, and the kinds as JSON. */
export class Batch {
  /** Rows whose numbers had to be changed. */
  readonly mendedIds: Array<string> = []
  readonly #texts: Array<string> = reads.map(() => "")
  readonly #kinds: Array<LedgerRow> = []
  readonly #places = new Int32Array(PLACES)
  #kindsText = ""
  #kindOfRow = ""

  /** Encodes some more rows; a batch holds a thousand at most. */
  add(given: ReadonlyArray<LedgerRow>): void {
    const rows = given.every(numbersFit) ? given : given.map((row) => {
      if (numbersFit(row)) return row
      this.mendedIds.push(row.attemptId)
      return mended(row)
    })
    const known = this.#kinds.length
    this.#kindOfRow += this.#separator(rows.map((row) => this.#kindOf(row)).join(","), this.#kindOfRow)
    // One list for all columns: each of its own cost a row 0.1 kB.
    const values = Array.from<unknown, string | number | null>(rows, () => null)
    for (let column = 0; column < reads.length; column++) {
      const read = reads[column]!
      for (let i = 0; i < rows.length; i++) values[i] = read(rows[i]!)
      this.#texts[column] += this.#separator(elementsOf(values), this.#texts[column]!)
    }
    if (this.#kinds.length > known) this.#kindsText += this.#separator(this.#newKinds(known), this.#kindsText)
  }

  /** One text per parameter: the columns in their order, the numbers of the kinds, the kinds. */
  parameters(): ReadonlyArray<string> {
    return [...this.#texts.map((text) => `{${text}}`), `{${this.#kindOfRow}}`, `[${this.#kindsText}]`]
  }

  #separator(text: string, before: string): string {
    return before === "" ? text : `,${text}`
  }

  /** Number of the row's kind, from 1. */
  #kindOf(row: LedgerRow): number {
    const places = this.#places
    let place = hashOf(row)
    while (places[place] !== 0) {
      const number = places[place]!
      if (isSameKind(this.#kinds[number - 1]!, row)) return number
      place = (place + 1) & (PLACES - 1)
    }
    return places[place] = this.#kinds.push(row)
  }

  #newKinds(from: number): string {
    const make = (fit: (row: LedgerRow) => LedgerRow) =>
      JSON.stringify(this.#kinds.slice(from).map((row, index) => ({ ...pick(fit(row)), kind: from + index + 1 }))).slice(1, -1)
    const json = make((row) => row)
    return json.includes("\\u") && suspicious.test(json) ? make(mended) : json
  }
}

const pick = (row: LedgerRow): Pick<LedgerRow, KindField> => ({
  attempt: row.attempt, final: row.final, nodeId: row.nodeId, endpoint: row.endpoint, requestedModel: row.requestedModel,
  provider: row.provider, model: row.model, connectionId: row.connectionId, apiKeyId: row.apiKeyId, apiKeyName: row.apiKeyName,
  combo: row.combo, sourceFormat: row.sourceFormat, targetFormat: row.targetFormat, stream: row.stream, outcome: row.outcome,
  upstreamStatus: row.upstreamStatus, status: row.status, clientStatus: row.clientStatus, errorCode: row.errorCode, phase: row.phase, estimated: row.estimated,
  units: row.units, unpriced: row.unpriced, proxyId: row.proxyId
})
