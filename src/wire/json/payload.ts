/**
 * The changes that operators' rules make in the bytes of a request: one walk over them, or another one where a rule works on what a rule
 * before it put there. Every other byte stays. Pure.
 */
import type { PayloadEdit } from "#actors/request/ports/Target.ts"
import { asBuffer } from "./asBuffer.ts"
import * as Edits from "./edits.ts"

type Tree = Map<string | number, Edits.Edits>

const removal = new Edits.Removal()

const leafOf = (edit: PayloadEdit): Edits.Edits =>
  edit.kind === "filter" ? removal : new Edits.Value(JSON.parse(edit.text) as unknown, edit.text, edit.kind === "default")

/** An index and a name of the same digits may be one place: they are not told apart before a body is seen. */
const keyIn = (tree: Tree, step: string | number): string | number => {
  const other = typeof step === "number" ? String(step) : Number(step)
  return !tree.has(step) && tree.has(other) ? other : step
}

/** Whether a list or an object is there, and which item an index means, is known only after an edit with an index. */
const isUnclear = (tree: Tree, step: string | number): boolean => {
  for (const key of tree.keys()) if (key !== step && (typeof key === "number" || typeof step === "number")) return true
  return false
}

/** False when the edit works on the place of an edit before it, on a place around or below that, or on a list that it may have changed. */
const enters = (tree: Tree, edit: PayloadEdit, leaf: Edits.Edits): boolean => {
  const { path } = edit
  let place = tree
  for (const [i, step] of path.entries()) {
    const key = keyIn(place, step)
    const below = place.get(key)
    if (key !== step || (edit.kind !== "filter" && isUnclear(place, step)) || (below !== undefined && (i === path.length - 1 || !(below instanceof Map)))) return false
    if (i === path.length - 1) place.set(step, leaf)
    else if (below instanceof Map) place = below
    else place.set(step, place = new Map())
  }
  return true
}

const passesOf = (edits: ReadonlyArray<PayloadEdit>): ReadonlyArray<Tree> => {
  const passes: Array<Tree> = []
  let puts = false
  for (const edit of edits) {
    const leaf = leafOf(edit)
    const last = passes.at(-1)
    // Items that go are counted once all items are there.
    const waits = edit.kind === "filter" && puts && edit.path.some((step) => typeof step === "number")
    if (waits || last === undefined || !enters(last, edit, leaf)) {
      const next: Tree = new Map()
      enters(next, edit, leaf)
      passes.push(next)
      puts = false
    }
    puts ||= edit.kind !== "filter"
  }
  return passes
}

/** By the list of a target: it is one for as long as the configuration stands. */
const known = new WeakMap<ReadonlyArray<PayloadEdit>, ReadonlyArray<Tree>>()

/** The body with the changes; the same bytes when nothing changes. */
export const apply = (edits: ReadonlyArray<PayloadEdit>, body: Uint8Array): Uint8Array => {
  let passes = known.get(edits)
  if (passes === undefined) known.set(edits, passes = passesOf(edits))
  const before = asBuffer(body)
  const after = passes.reduce<Buffer>((bytes, pass) => Edits.inBytes(bytes, pass) ?? anew(bytes, pass), before)
  return after === before ? body : after
}

/** A body that says one name twice on the way: it is written as most servers read it, the last one. */
const anew = (bytes: Buffer, pass: Tree): Buffer => Buffer.from(JSON.stringify(Edits.applied(JSON.parse(bytes.toString("utf8")), pass)))
