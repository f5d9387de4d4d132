/**
 * The entries of one API key, ready to be chosen from. While all of them fit, all are said, and the text is the same whatever is asked;
 * else the strategy chooses, and what was chosen stands in the order in which it was first stored. Pure.
 */
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import type { MemorySettings } from "#schemas/memory/MemorySettings.ts"
import * as Context from "./context.ts"
import * as Rank from "./rank.ts"
import { nearness, type Vector } from "#src/features/memory/vectors/vector.ts"
import { Relevance } from "./Relevance.ts"

const dayMs = 86_400_000
/** Sessions whose entries are kept apart at once; the first one goes. */
const SESSIONS = 100

export interface Chosen extends Rank.Ranked {
  readonly entry: MemoryEntry
  /** False where it found no room. */
  readonly fits: boolean
}

export interface Choice {
  /** In the order of the strategy. */
  readonly ranked: ReadonlyArray<Chosen>
  /** Null = nothing is said. */
  readonly text: string | null
  readonly tokens: number
}

/** What a model ranks at most: entries, and characters of them. */
const CANDIDATES = 50
const CANDIDATE_CHARACTERS = 100_000

/** What a model said of a question. */
export interface Said {
  /** Its vector. */
  readonly asked: Vector | null
  /** Scores by ids of entries. */
  readonly scores: ReadonlyMap<string, number> | null
}
const nothing: Said = { asked: null, scores: null }

/** By ids of entries. */
export type Vectors = ReadonlyMap<string, Vector>

/** What may be chosen in one session, until one of it expires. */
class Room {
  readonly #entries: ReadonlyArray<MemoryEntry>
  readonly #tokens: number
  #whole: string | null = null
  #relevance: Relevance | null = null
  readonly #vectors: Vectors
  /** ms since the epoch. */
  readonly until: number

  constructor(entries: ReadonlyArray<MemoryEntry>, vectors: Vectors, until: number) {
    this.#entries = entries
    this.#vectors = vectors
    this.#tokens = entries.reduce((sum, { tokens }) => sum + tokens, Context.headingTokens)
    this.until = until
  }

  fits(maxTokens: number): boolean {
    return this.#tokens <= maxTokens
  }

  text(question: () => string, said: Said, { memoryMaxTokens, memoryStrategy }: MemorySettings): string | null {
    if (this.#entries.length === 0) return null
    return this.fits(memoryMaxTokens) ? this.#whole ??= this.#say(this.#entries) : this.choose(question(), said, memoryStrategy, memoryMaxTokens).text
  }

  /** Of the entries with a vector, by their places. */
  #near(asked: Vector): ReadonlyMap<number, number> {
    const near = new Map<number, number>()
    for (const [place, { id }] of this.#entries.entries()) {
      const vector = this.#vectors.get(id)
      const score = vector === undefined ? null : nearness(asked, vector)
      if (score !== null) near.set(place, score)
    }
    return near
  }

  #order(question: string, asked: Vector | null, strategy: Rank.Strategy): ReadonlyArray<Rank.Ranked> {
    const relevance = strategy === "recent" || question === ""
      ? none
      : (this.#relevance ??= new Relevance(this.#entries.map(({ content, key }) => `${key}\n${content}`))).scores(question)
    return Rank.rank(strategy, this.#entries.length, relevance, asked === null ? none : this.#near(asked))
  }

  /** What a model is asked to rank: the first of the order. */
  candidates(question: string, asked: Vector | null, strategy: Rank.Strategy): ReadonlyArray<MemoryEntry> {
    const candidates: Array<MemoryEntry> = []
    let characters = 0
    for (const { place } of this.#order(question, asked, strategy)) {
      const entry = this.#entries[place]
      if (entry === undefined) continue
      characters += entry.key.length + entry.content.length
      if (candidates.length >= CANDIDATES || characters > CANDIDATE_CHARACTERS) break
      candidates.push(entry)
    }
    return candidates
  }

  choose(question: string, { asked, scores }: Said, strategy: Rank.Strategy, maxTokens: number): Choice {
    const entries = this.#entries
    let tokens = Context.headingTokens
    const order = this.#order(question, asked, strategy)
    const byPlace = new Map<number, number>()
    if (scores !== null) {
      for (const [place, { id }] of entries.entries()) {
        const score = scores.get(id)
        if (score !== undefined) byPlace.set(place, score)
      }
    }
    const ranked = (scores === null ? order : Rank.reranked(order, byPlace)).flatMap((one): ReadonlyArray<Chosen> => {
      const entry = entries[one.place]
      if (entry === undefined) return []
      const fits = tokens + entry.tokens <= maxTokens
      if (fits) tokens += entry.tokens
      return [{ ...one, entry, fits }]
    })
    const said = ranked.filter(({ fits }) => fits).map(({ entry }) => entry)
    return said.length === 0 ? { ranked, text: null, tokens: 0 } : { ranked, text: this.#say(said), tokens }
  }

  #say(entries: ReadonlyArray<MemoryEntry>): string {
    return Context.textOf([...entries].sort((a, b) => order(a.createdAt, b.createdAt) || order(a.id, b.id)))
  }
}

const none: ReadonlyMap<number, number> = new Map()
const noVectors: Vectors = new Map()
/** Characters that the numbers of a vector count as: both are bounded together. */
const NUMBER_CHARACTERS = 2
const order = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

export class Remembered {
  readonly #entries: ReadonlyArray<MemoryEntry>
  readonly #hasSessions: boolean
  readonly #rooms = new Map<string, Room>()
  readonly #vectors: Vectors
  #days: number | null = null
  /** Characters that it holds, its vectors with them. */
  readonly characters: number

  /** `entries`: newest change first. `vectors`: those that are made of their texts of now. */
  constructor(entries: ReadonlyArray<MemoryEntry>, vectors: Vectors = noVectors) {
    this.#entries = entries
    this.#vectors = vectors
    this.#hasSessions = entries.some(({ sessionId }) => sessionId !== "")
    let characters = entries.reduce((sum, { content, key }) => sum + key.length + content.length, 0)
    for (const { length } of vectors.values()) characters += length * NUMBER_CHARACTERS
    this.characters = characters
  }

  /** What a request is told; null = nothing. `question`: asked for only where not all fits. `now`: ms since the epoch. */
  text(session: string | null, question: () => string, settings: MemorySettings, now: number, said = nothing): string | null {
    return this.#room(session, settings.memoryRetentionDays, now).text(question, said, settings)
  }

  /** Whether the vector of a question would change what is told. */
  wantsVector(session: string | null, settings: MemorySettings, now: number): boolean {
    return this.#vectors.size > 0 && this.isChosen(session, settings, now)
  }

  /** Whether what a question has to do with entries decides what is told. */
  isChosen(session: string | null, { memoryMaxTokens, memoryRetentionDays, memoryStrategy }: MemorySettings, now: number): boolean {
    return memoryStrategy !== "recent" && !this.#room(session, memoryRetentionDays, now).fits(memoryMaxTokens)
  }

  /** What a model is asked to rank, in the order of the strategy. */
  candidates(session: string | null, question: string, { memoryRetentionDays, memoryStrategy }: MemorySettings, now: number, asked: Vector | null): ReadonlyArray<MemoryEntry> {
    return this.#room(session, memoryRetentionDays, now).candidates(question, asked, memoryStrategy)
  }

  choose(session: string | null, question: string, { memoryMaxTokens, memoryRetentionDays, memoryStrategy }: MemorySettings, now: number, said = nothing): Choice {
    return this.#room(session, memoryRetentionDays, now).choose(question, said, memoryStrategy, memoryMaxTokens)
  }

  #room(session: string | null, days: number, now: number): Room {
    const own = this.#hasSessions ? session ?? "" : ""
    const known = this.#rooms.get(own)
    if (known !== undefined && known.until > now && this.#days === days) return known
    if (this.#days !== days || this.#rooms.size >= SESSIONS) this.#rooms.clear()
    this.#days = days
    let until = Infinity
    const entries = this.#entries.filter(({ expiresAt, sessionId, updatedAt }) => {
      if (sessionId !== "" && sessionId !== own) return false
      const ends = Math.min(expiresAt === null ? Infinity : Date.parse(expiresAt), days === 0 ? Infinity : Date.parse(updatedAt) + days * dayMs)
      if (ends > now) until = Math.min(until, ends)
      return ends > now
    })
    const room = new Room(entries, this.#vectors, until)
    this.#rooms.set(own, room)
    return room
  }
}
