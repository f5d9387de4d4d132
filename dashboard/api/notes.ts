/** What the page tells in passing: a change that was made, where it acts by now, and the way back. */
import { call, Problem } from "./call.ts"

export interface Note {
  readonly id: number
  readonly text: string
  readonly isBad: boolean
  /** Which nodes act on the change; null while that is asked, or where it is no matter of configuration. */
  readonly receipt: string | null
  readonly undo: (() => Promise<unknown>) | null
}

/** Nodes read a change within two seconds, or heal by polling; after this time the note says who is late. */
const PATIENCE_MS = 10_000
const LOOK_MS = 150
/** Older notes make room. */
const MOST_NOTES = 3
/** A note leaves by itself; one with a way back stays longer. */
const STAYS_MS = 8_000
const UNDO_STAYS_MS = 30_000

let notes: ReadonlyArray<Note> = []
let made = 0
const listeners = new Set<() => void>()

const change = (next: ReadonlyArray<Note>): void => {
  notes = next
  for (const listener of listeners) listener()
}

export const current = (): ReadonlyArray<Note> => notes

export const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const forget = (id: number): void => change(notes.filter((note) => note.id !== id))

const complete = (id: number, receipt: string): void => change(notes.map((note) => note.id === id ? { ...note, receipt } : note))

export const tell = (text: string, more: { readonly isBad?: boolean; readonly undo?: (() => Promise<unknown>) | null } = {}): number => {
  const id = ++made
  const undo = more.undo ?? null
  change([...notes, { id, text, isBad: more.isBad ?? false, receipt: null, undo }].slice(-MOST_NOTES))
  setTimeout(() => forget(id), undo === null ? STAYS_MS : UNDO_STAYS_MS)
  return id
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Looks which living nodes act on the version that the change has made, and writes it into the note. */
export const follow = async (id: number): Promise<void> => {
  const begun = performance.now()
  let wanted: number | null = null
  try {
    for (;;) {
      const { nodes, version } = await call("GET /api/nodes")
      wanted ??= version
      const target = wanted
      const living = nodes.filter(({ status }) => status === "alive")
      const there = living.filter((node) => node.version >= target).length
      const passed = Math.round(performance.now() - begun)
      if (there === living.length) return complete(id, `Applied on ${there} of ${living.length} ${living.length === 1 ? "node" : "nodes"} in ${passed} ms.`)
      if (passed > PATIENCE_MS) return complete(id, `Applied on ${there} of ${living.length} nodes; the others are late.`)
      await wait(LOOK_MS)
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    complete(id, "Which nodes act on it could not be read.")
  }
}
