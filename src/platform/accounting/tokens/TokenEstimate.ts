/**
 * Counts the tokens of a text when an upstream gave no usage, with the o200k tokenizer in a worker thread: its 100 ms of
 * loading and 100 MB stay off the event loop and off every process that never needs it.
 *
 * The caller is synchronous, so it waits for the worker, but only briefly and only within a budget; without the worker
 * (not loaded yet, busy, budget spent) the text is estimated from its characters. Texts beyond the sample are extrapolated.
 */
import { Worker } from "node:worker_threads"
import { sample, SAMPLE_LENGTH } from "#src/platform/accounting/tokens/textSample.ts"
import * as TokenizerProtocol from "./tokenizerProtocol.ts"

/** Longest wait for one count, ms. */
export const WAIT_MS = 5
/** Waiting that one window may hold, ms: a storm of aborted streams must not stop the loop. */
const BUDGET_MS = 10
const BUDGET_WINDOW_MS = 100

/** Tokens by character class: 4 ASCII characters, or 1.5 others. Never 0 for a text. */
export const byCharacters = (text: string): number => {
  if (text.length === 0) return 0
  const step = Math.max(1, Math.floor(text.length / SAMPLE_LENGTH))
  let ascii = 0
  let seen = 0
  for (let i = 0; i < text.length; i += step) {
    if (text.charCodeAt(i) < 128) ascii++
    seen++
  }
  const tokens = ascii / 4 + (seen - ascii) / 1.5
  return Math.max(1, Math.round(tokens * text.length / seen))
}

export interface Options {
  /** Monotonic time, ms. */
  readonly now: () => number
  readonly waitMs?: number | undefined
  /** Called when a thread died. */
  readonly onLost?: (error: Error) => void
}

export class TokenEstimate {
  /** Counts made by the tokenizer, and by characters. */
  exact = 0
  guessed = 0
  readonly #now: () => number
  readonly #waitMs: number
  readonly #onLost: (error: Error) => void
  #worker: Worker | null = null
  #channel: TokenizerProtocol.TokenizerChannel | null = null
  #windowStart = Number.NEGATIVE_INFINITY
  #spent = 0

  constructor(options: Options) {
    this.#now = options.now
    this.#waitMs = options.waitMs ?? WAIT_MS
    this.#onLost = options.onLost ?? (() => {})
  }

  /** Starts loading the tokenizer; the first `estimate` does it too. */
  preload(): void {
    if (this.#worker !== null) return
    const channel = TokenizerProtocol.makeChannel()
    const worker = new Worker(new URL("./tokenizerWorker.ts", import.meta.url), { workerData: channel, name: "tokenizer", stdout: false })
    worker.unref()
    const died = (error: Error) => {
      if (this.#worker !== worker) return
      this.close()
      this.#onLost(error)
    }
    worker.on("error", died)
    worker.on("exit", (code) => died(new Error(`The tokenizer's thread ended with exit code ${code}`)))
    this.#worker = worker
    this.#channel = channel
  }

  get ready(): boolean {
    return this.#channel !== null && TokenizerProtocol.stateOf(this.#channel) !== TokenizerProtocol.LOADING
  }

  /** Tokens of a text; at least 1 for any text, 0 for none. */
  estimate(text: string): number {
    if (text.length === 0) return 0
    this.preload()
    const part = sample(text)
    const counted = this.#count(part.text)
    if (counted === null) {
      this.guessed++
      return byCharacters(text)
    }
    this.exact++
    return Math.max(1, Math.round(counted * part.factor))
  }

  /** Stops the worker; a later estimate starts a new one. */
  close(): void {
    const worker = this.#worker
    this.#worker = null
    this.#channel = null
    if (worker !== null) void worker.terminate()
  }

  #count(text: string): number | null {
    const channel = this.#channel
    if (channel === null) return null
    const before = this.#now()
    if (before - this.#windowStart >= BUDGET_WINDOW_MS) {
      this.#windowStart = before
      this.#spent = 0
    }
    const allowed = Math.min(this.#waitMs, Math.max(BUDGET_MS, this.#waitMs) - this.#spent)
    if (allowed <= 0) return null
    const counted = TokenizerProtocol.ask(channel, text, allowed)
    this.#spent += this.#now() - before
    return counted
  }
}
