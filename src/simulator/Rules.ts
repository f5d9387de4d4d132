/**
 * The registered rules: which script a request gets beyond what its model id says.
 *
 * Rules are tried in the order of registration; the first that matches and is not used up wins. `nth` counts the requests that
 * satisfy the rule's other conditions, also those that an earlier rule took.
 */
import type { IncomingHttpHeaders } from "node:http"
import type { Rule } from "./Script.ts"

export interface RuleSubject {
  readonly model: string | null
  readonly path: string
  readonly key: string | null
  readonly stream: boolean
  readonly headers: IncomingHttpHeaders
}

export interface Registered {
  readonly id: string
  readonly rule: Rule
  /** Requests that satisfied the conditions other than nth. */
  matched: number
  used: number
}

/** A call that is being answered. */
interface Playing {
  /** Ends it at once, as a lost connection does. */
  readonly cut: () => void
}

/** Most rules at once; a test that forgets to remove its rules gets an error. */
const MAX_RULES = 10_000

/** `*` stands for any text. */
const glob = (pattern: string, text: string): boolean =>
  pattern === text || pattern === "*" ||
  (pattern.includes("*") && new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`, "s").test(text))

const satisfies = (rule: Rule, subject: RuleSubject): boolean => {
  const match = rule.match
  if (match === undefined) return true
  if (match.model !== undefined && !(subject.model !== null && glob(match.model, subject.model))) return false
  if (match.path !== undefined && !glob(match.path, subject.path)) return false
  if (match.key !== undefined && match.key !== subject.key) return false
  if (match.stream !== undefined && match.stream !== subject.stream) return false
  return match.header === undefined ||
    Object.entries(match.header).every(([name, value]) => subject.headers[name.toLowerCase()] === value)
}

/** Spreads a share evenly, without chance: of 0.5 each second request. */
const isShared = (nth: number, share: number): boolean => Math.floor(nth * share) > Math.floor((nth - 1) * share)

export class Rules {
  #rules: Array<Registered> = []
  #next = 1
  /** What is being answered under each held rule. */
  readonly #playing = new Map<string, Set<Playing>>()

  get size(): number {
    return this.#rules.length
  }

  /** Returns the rule's id; a rule with the id of an older one takes its place. */
  add(rule: Rule): string {
    return this.#register(rule).id
  }

  /** Registers a rule whose calls are cut when it is released. */
  hold(rule: Rule): Registered {
    const registered = this.#register(rule)
    this.#playing.set(registered.id, new Set())
    return registered
  }

  release({ id }: Registered): void {
    this.remove(id)
    const playing = this.#playing.get(id) ?? []
    this.#playing.delete(id)
    for (const one of playing) one.cut()
  }

  /** The calls of a rule that is held; undefined for others. */
  playingOf(id: string): Set<Playing> | undefined {
    return this.#playing.get(id)
  }

  #register(rule: Rule): Registered {
    const id = rule.id ?? `rule-${this.#next++}`
    const registered: Registered = { id, rule, matched: 0, used: 0 }
    const old = this.#rules.findIndex((one) => one.id === id)
    if (old >= 0) this.#rules[old] = registered
    else if (this.#rules.length >= MAX_RULES) throw new RangeError(`more than ${MAX_RULES} rules: remove used ones`)
    else this.#rules.push(registered)
    return registered
  }

  /** False when there is no such rule. */
  remove(id: string): boolean {
    const before = this.#rules.length
    this.#rules = this.#rules.filter((one) => one.id !== id)
    return this.#rules.length < before
  }

  clear(): void {
    this.#rules = []
  }

  list(): ReadonlyArray<Registered> {
    return this.#rules
  }

  /** The rule that takes this request, counted as used, or null. */
  take(subject: RuleSubject): Registered | null {
    let taken: Registered | null = null
    for (const one of this.#rules) {
      if (!satisfies(one.rule, subject)) continue
      one.matched++
      if (taken !== null) continue
      if (one.rule.times !== undefined && one.used >= one.rule.times) continue
      if (one.rule.match?.nth !== undefined && one.matched !== one.rule.match.nth) continue
      if (one.rule.match?.share !== undefined && !isShared(one.matched, one.rule.match.share)) continue
      one.used++
      taken = one
    }
    return taken
  }
}
