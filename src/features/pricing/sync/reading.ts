/** What is read from a public list of models: entries one by one, and why others were left out. Pure. */
import * as Predicate from "effect/Predicate"
import type { ModelFacts } from "#schemas/catalogue/SyncedModels.ts"
import type { Price } from "#schemas/Provider.ts"

export type Doc = Readonly<Record<string, unknown>>

/** Largest price: USD for a million tokens, and USD for a unit. */
export const TOKENS_MAX = 100_000
export const UNIT_MAX = 10_000
/** Entries that are kept of a list. */
export const ENTRIES_MAX = 20_000
/** Warnings that are told; the rest are counted. */
export const WARNINGS_MAX = 50

const NAME_MAX = 240

export const isDoc = (value: unknown): value is Doc => Predicate.isReadonlyObject(value)

/** A member of the object itself. */
export const own = (doc: Doc, name: string): unknown => Object.hasOwn(doc, name) ? doc[name] : undefined

/** Names that are members of every object mean nothing as models. */
const inherited: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"])

/** Why a model may not have the name; null when it may. */
const nameProblem = (name: string): string | null =>
  name === "" || name.length > NAME_MAX ? `its name does not have 1 to ${NAME_MAX} characters`
    : inherited.has(name) ? "its name is not one of a model"
    : /[\p{C}\s]/u.test(name) ? "its name has spaces or invisible characters"
    : null

/** A name as a warning shows it: without what a terminal would obey. */
export const shown = (name: string): string => JSON.stringify(name.slice(0, 80).replace(/\p{C}/gu, "?")).slice(1, -1)

export class BadAmount {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** An amount in this gateway's unit; undefined where the list says nothing. Decimal fractions survive the change of the unit. */
export const amountOf = (field: string, value: unknown, times: number, most: number): number | undefined => {
  if (value === undefined || value === null) return undefined
  if (typeof value !== "number" || !Number.isFinite(value)) throw new BadAmount(`${field} is no number`)
  if (value < 0) throw new BadAmount(`${field} is negative`)
  const amount = Number((value * times).toPrecision(12))
  if (amount > most) throw new BadAmount(`${field} is larger than ${most} USD`)
  return amount
}

/** Without the members that are undefined. */
export const given = <A extends object>(value: A): { readonly [K in keyof A]?: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as { readonly [K in keyof A]?: Exclude<A[K], undefined> }

export const isEmpty = (value: object): boolean => Object.keys(value).length === 0

/** The lists of a reading, with their bounds. */
export class Reading {
  readonly prices = new Map<string, Price>()
  readonly facts = new Map<string, ModelFacts>()
  readonly #warnings: Array<string> = []
  #untold = 0

  warn(text: string): void {
    if (this.#warnings.length < WARNINGS_MAX) this.#warnings.push(text)
    else this.#untold++
  }

  get warnings(): ReadonlyArray<string> {
    return this.#untold === 0 ? this.#warnings : [...this.#warnings, `and ${this.#untold} more`]
  }

  /** The first entry of a model counts. */
  price(key: string, price: Price): void {
    this.#add(this.prices, key, price)
  }

  fact(key: string, facts: ModelFacts): void {
    this.#add(this.facts, key, facts)
  }

  /** Runs `read`; an amount that cannot be one costs only the entry. */
  entry(name: string, read: () => void): void {
    const problem = nameProblem(name)
    if (problem !== null) return this.warn(`${shown(name)}: ${problem}`)
    try {
      read()
    } catch (cause) {
      if (!(cause instanceof BadAmount)) throw cause
      this.warn(`${shown(name)}: ${cause.message}`)
    }
  }

  #add<A>(to: Map<string, A>, key: string, value: A): void {
    if (to.has(key)) return
    if (to.size >= ENTRIES_MAX) return this.warn(`${shown(key)}: more than ${ENTRIES_MAX} models`)
    to.set(key, value)
  }
}
