/**
 * The fields that repeat from request to request, numbered, so that a start names them by a number.
 *
 * A table of fixed size instead of a Map: members that come and go would leave dead hash tables behind, and a client that
 * invents model names only pushes others out. A value that is not in the table is written again under a new number.
 */
import type { AttemptStart } from "#schemas/records/LedgerRow.ts"
import { MAX_FIELD_LENGTH } from "./JournalBytes.ts"

export type JournalContext = Pick<AttemptStart,
  | "nodeId" | "endpoint" | "requestedModel" | "provider" | "model" | "connectionId" | "apiKeyId" | "apiKeyName" | "combo"
  | "sourceFormat" | "targetFormat" | "stream">

/** Contexts that are remembered. */
const SLOTS = 1024
/** A context is written again after so many starts that name it: a damaged one costs no more rows than that. */
export const REPEAT_STARTS = 128

export interface Numbered {
  readonly number: number
  readonly context: JournalContext
  /** Round of the journal in which it was written last; another round has to write it again. */
  round: number
  /** Starts since it was written. */
  starts: number
}

/** Two units of a text and its length tell most texts apart. */
const mix = (hash: number, text: string | null): number => {
  if (text === null || text.length === 0) return Math.imul(hash ^ 1, 0x9e3779b1)
  const last = text.length - 1
  const mixed = Math.imul(hash ^ (text.length << 16) ^ (text.charCodeAt(last) << 8) ^ text.charCodeAt(last >>> 1), 0x9e3779b1)
  return mixed ^ (mixed >>> 15)
}

const hashOf = (s: JournalContext): number =>
  mix(mix(mix(mix(mix(s.stream ? 3 : 7, s.requestedModel), s.model), s.connectionId), s.apiKeyId), s.endpoint)

const isSame = (a: JournalContext, b: JournalContext): boolean =>
  a.model === b.model && a.connectionId === b.connectionId && a.apiKeyId === b.apiKeyId && a.requestedModel === b.requestedModel
  && a.endpoint === b.endpoint && a.stream === b.stream && a.provider === b.provider && a.apiKeyName === b.apiKeyName
  && a.combo === b.combo && a.sourceFormat === b.sourceFormat && a.targetFormat === b.targetFormat && a.nodeId === b.nodeId

const fits = (text: string | null): boolean => text === null || text.length <= MAX_FIELD_LENGTH

/** Long texts are written clipped, and never kept here in full. */
const isKept = (s: JournalContext): boolean =>
  fits(s.nodeId) && fits(s.endpoint) && fits(s.requestedModel) && fits(s.provider) && fits(s.model) && fits(s.connectionId)
  && fits(s.apiKeyId) && fits(s.apiKeyName) && fits(s.combo) && fits(s.sourceFormat) && fits(s.targetFormat)

export class Contexts {
  readonly #slots: Array<Numbered | undefined> = Array.from({ length: SLOTS }, () => undefined)
  /** Never used twice by one writer, so that a damaged context is missed rather than mistaken for another. */
  #last = 0

  /** The context of a start; one that was not written in the current round has `round` -1 or an older one. */
  of(s: JournalContext): Numbered {
    const slot = hashOf(s) & (SLOTS - 1)
    const first = this.#slots[slot]
    if (first !== undefined && isSame(first.context, s)) return first
    const second = this.#slots[slot ^ 1]
    if (second !== undefined && isSame(second.context, s)) return second
    const fresh: Numbered = {
      number: ++this.#last,
      context: {
        nodeId: s.nodeId, endpoint: s.endpoint, requestedModel: s.requestedModel, provider: s.provider, model: s.model,
        connectionId: s.connectionId, apiKeyId: s.apiKeyId, apiKeyName: s.apiKeyName, combo: s.combo,
        sourceFormat: s.sourceFormat, targetFormat: s.targetFormat, stream: s.stream
      },
      round: -1,
      starts: 0
    }
    if (isKept(s)) this.#slots[first === undefined || second !== undefined ? slot : slot ^ 1] = fresh
    return fresh
  }
}
