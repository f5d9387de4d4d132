/**
 * One question at a time from the event loop to the tokenizer's thread, over shared memory.
 *
 * Cells: 0 = state, 1 = length of the text in bytes, 2 = the answer. The asker moves IDLE to ASKED, the worker moves ASKED
 * to ANSWERED or, when the asker waits no more (ABANDONED), back to IDLE; the asker moves ANSWERED to IDLE.
 */
export const LOADING = 0
const IDLE = 1
const ASKED = 2
const ANSWERED = 3
const ABANDONED = 4

const STATE = 0
const LENGTH = 1
const ANSWER = 2

/** Longest text, bytes of UTF-8. */
const CAPACITY_BYTES = 65_536

export interface TokenizerChannel {
  readonly cells: Int32Array<SharedArrayBuffer>
  readonly bytes: Uint8Array<SharedArrayBuffer>
}

export const makeChannel = (): TokenizerChannel => ({
  cells: new Int32Array(new SharedArrayBuffer(12)),
  bytes: new Uint8Array(new SharedArrayBuffer(CAPACITY_BYTES))
})

export const stateOf = (channel: TokenizerChannel): number => Atomics.load(channel.cells, STATE)

const encoder = new TextEncoder()

/** Tokens of the text, or null when the worker is not ready, is busy, or does not answer within `waitMs`. */
export const ask = (channel: TokenizerChannel, text: string, waitMs: number): number | null => {
  const { bytes, cells } = channel
  if (Atomics.load(cells, STATE) !== IDLE) return null
  const { read, written } = encoder.encodeInto(text, bytes)
  if (read < text.length) return null
  Atomics.store(cells, LENGTH, written)
  Atomics.store(cells, STATE, ASKED)
  Atomics.notify(cells, STATE)
  Atomics.wait(cells, STATE, ASKED, waitMs)
  if (Atomics.compareExchange(cells, STATE, ASKED, ABANDONED) === ASKED) return null
  const answer = Atomics.load(cells, ANSWER)
  Atomics.store(cells, STATE, IDLE)
  return answer < 0 ? null : answer
}

/** -1 when the tokenizer throws: the next text may be better. */
const counted = (count: (text: string) => number, text: string): number => {
  try {
    return count(text)
  } catch {
    return -1
  }
}

/** Runs the worker's side for ever. */
export const serve = (channel: TokenizerChannel, count: (text: string) => number): never => {
  const { bytes, cells } = channel
  const decoder = new TextDecoder()
  Atomics.store(cells, STATE, IDLE)
  while (true) {
    const state = Atomics.load(cells, STATE)
    if (state !== ASKED) {
      if (state === ABANDONED) Atomics.compareExchange(cells, STATE, ABANDONED, IDLE)
      else Atomics.wait(cells, STATE, state)
      continue
    }
    // A copy: TextDecoder takes no shared memory.
    const text = decoder.decode(bytes.slice(0, Atomics.load(cells, LENGTH)))
    Atomics.store(cells, ANSWER, counted(count, text))
    if (Atomics.compareExchange(cells, STATE, ASKED, ANSWERED) !== ASKED) continue
    Atomics.notify(cells, STATE)
  }
}
