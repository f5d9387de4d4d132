/** Pages of the call log behind each other, and new rows: those wait while somebody reads. Outside of React; a screen subscribes. */
import { useEffect, useMemo, useSyncExternalStore } from "react"
import { replyOf } from "../../api/call.ts"
import type { Input } from "../../api/contract.ts"
import { type CallRow, MOST_ROWS, rowOf, unknownOf, withRows } from "./rows.ts"

export type CallFilters = NonNullable<Input<"GET /api/usage/call-logs">["query"]>

interface State {
  readonly rows: ReadonlyArray<CallRow>
  readonly next: string | null
  /** New rows that are held back. */
  readonly waiting: ReadonlyArray<CallRow>
  readonly error: Error | null
  readonly loaded: boolean
  readonly busy: boolean
}

export const FIRST = 100
const PAGE = 500
/** Pages without a row that are passed at once: a rare value may stand far back. */
const PASSED = 10

/** What was shown last stays, dimmed, until a new search has its rows. */
let shown: ReadonlyArray<CallRow> = []

export class CallList {
  #state: State = { rows: shown, next: null, waiting: [], error: null, loaded: false, busy: false }
  #running: AbortController | null = null
  readonly #filters: CallFilters
  readonly #listeners = new Set<() => void>()

  constructor(filters: CallFilters) {
    this.#filters = filters
  }

  readonly state = (): State => this.#state

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  readonly load = (): void => this.#run(async (signal) => ({ ...await this.#somePages(FIRST, null, signal), waiting: [] }))

  readonly stop = (): void => this.#running?.abort()

  /** The next page, while there is one and there is room. */
  readonly more = (): void => {
    const { loaded, next, rows } = this.#state
    if (!loaded || next === null || this.#running !== null || rows.length >= MOST_ROWS) return
    this.#run(async (signal) => {
      const page = await this.#somePages(PAGE, next, signal)
      return { rows: withRows(this.#state.rows, page.rows), next: page.next }
    })
  }

  /** Looks for new rows; one look at a time, and none while a page comes. `reading`: they must not move what is read. */
  readonly refresh = (reading: () => boolean): void => {
    if (this.#running !== null || !this.#state.loaded) return
    this.#run(async (signal) => {
      const page = await this.#page(FIRST, null, signal)
      const { next, rows, waiting } = this.#state
      if (rows.length === 0) return page
      const fresh = unknownOf(rows, page.rows)
      if (reading()) return { waiting: fresh.length === 0 ? waiting : fresh }
      // More came than one page holds: the list begins anew.
      return fresh.length >= FIRST ? { ...page, waiting: [] } : { rows: withRows(rows, fresh), next, waiting: [] }
    })
  }

  readonly show = (): void => this.#set({ rows: withRows(this.#state.rows, unknownOf(this.#state.rows, this.#state.waiting)), waiting: [] })

  async #page(limit: number, before: string | null, signal: AbortSignal) {
    const { answer, headers } = await replyOf("GET /api/usage/call-logs", { query: { ...this.#filters, limit, ...(before === null ? {} : { before }) }, signal })
    return { rows: answer.map(rowOf), next: headers.get("x-next-cursor") }
  }

  async #somePages(limit: number, before: string | null, signal: AbortSignal) {
    let page = await this.#page(limit, before, signal)
    for (let passed = 0; page.rows.length === 0 && page.next !== null && passed < PASSED; passed++) page = await this.#page(limit, page.next, signal)
    return page
  }

  #run(work: (signal: AbortSignal) => Promise<Partial<State>>): void {
    const controller = new AbortController()
    this.#running?.abort()
    this.#running = controller
    this.#set({ busy: true })
    const finish = (change: Partial<State>): void => {
      if (this.#running !== controller) return
      this.#running = null
      this.#set({ ...(controller.signal.aborted ? {} : change), busy: false })
    }
    const worked = async (): Promise<void> => {
      try {
        finish({ ...await work(controller.signal), error: null, loaded: true })
      } catch (error) {
        finish({ error: error instanceof Error ? error : new Error(String(error)) })
      }
    }
    void worked()
  }

  #set(change: Partial<State>): void {
    this.#state = { ...this.#state, ...change }
    shown = this.#state.rows
    for (const listener of this.#listeners) listener()
  }
}

/** One list per set of filters, loaded while it is on screen. */
export const useCalls = (filters: CallFilters): readonly [CallList, State] => {
  const named = JSON.stringify(filters)
  const list = useMemo(() => new CallList(JSON.parse(named) as CallFilters), [named])
  const now = useSyncExternalStore(list.subscribe, list.state)
  useEffect(() => {
    list.load()
    return list.stop
  }, [list])
  return [list, now]
}
