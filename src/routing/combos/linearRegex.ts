/**
 * Regular expressions whose match time grows with text length times pattern length, whatever the pattern: all states are
 * followed at once (Thompson), nothing is tried again. Case-sensitive and unanchored, as `RegExp.test` without flags. What cannot
 * be matched so (back references, lookaround) is refused, and so is what is too large.
 */
import { parse, type RegexNode, type Test } from "#src/routing/combos/regexSyntax.ts"

/** Instructions of one compiled pattern, or of several that are asked together; bounded repetitions multiply them. */
const instructionsMax = 1_000
/** Parts that are written for one pattern: a part that matches nothing needs no instruction, however often it is repeated. */
const writtenMax = 100_000
/** Default of the longest text that is matched, in characters; tool names have up to 128. */
const textMax = 1_000
/** Characters of a text times instructions: a large pattern is asked of shorter texts than a small one. */
const workMax = 4_000_000

type Instruction =
  | { readonly op: "test"; readonly test: Test }
  | { readonly op: "split"; readonly to: number; readonly or: number }
  | { readonly op: "jump"; readonly to: number }
  | { readonly op: "assert"; readonly what: "start" | "end" | "boundary" | "inside" }
  | { readonly op: "match" }

export interface Pattern {
  readonly _tag: "Pattern"
  /** What it costs to match one character, at most. */
  readonly instructions: number
  /** False for a longer text than was said, and for one that would take too long. */
  readonly matches: (text: string) => boolean
}

export interface Refused {
  readonly _tag: "Refused"
  /** For people. */
  readonly message: string
}

class TooLarge extends Error {}

const emit = (root: RegexNode): ReadonlyArray<Instruction> => {
  const program: Array<Instruction> = []
  let written = 0
  const add = (instruction: Instruction): number => {
    if (program.length >= instructionsMax) throw new TooLarge()
    return program.push(instruction) - 1
  }
  /** `body` any number of times. */
  const star = (body: RegexNode): void => {
    const split = add({ op: "split", to: 0, or: 0 })
    write(body)
    add({ op: "jump", to: split })
    program[split] = { op: "split", to: split + 1, or: program.length }
  }
  const write = (node: RegexNode): void => {
    if (++written > writtenMax) throw new TooLarge()
    switch (node.kind) {
      case "test":
        add({ op: "test", test: node.test })
        return
      case "assert":
        add({ op: "assert", what: node.what })
        return
      case "sequence":
        node.items.forEach(write)
        return
      case "choice": {
        const ends: Array<number> = []
        node.options.forEach((option, index) => {
          if (index === node.options.length - 1) return write(option)
          const split = add({ op: "split", to: 0, or: 0 })
          write(option)
          ends.push(add({ op: "jump", to: 0 }))
          program[split] = { op: "split", to: split + 1, or: program.length }
        })
        for (const end of ends) program[end] = { op: "jump", to: program.length }
        return
      }
      case "repeat": {
        for (let n = 0; n < node.least; n++) write(node.body)
        if (node.most === null) return star(node.body)
        const skips: Array<number> = []
        for (let n = node.least; n < node.most; n++) {
          skips.push(add({ op: "split", to: 0, or: 0 }))
          write(node.body)
        }
        for (const skip of skips) program[skip] = { op: "split", to: skip + 1, or: program.length }
      }
    }
  }
  write(root)
  add({ op: "match" })
  return program
}

const isWord = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)

const holds = (what: "start" | "end" | "boundary" | "inside", text: string, at: number): boolean => {
  if (what === "start") return at === 0
  if (what === "end") return at === text.length
  const edge = (at > 0 && isWord(text.charCodeAt(at - 1))) !== (at < text.length && isWord(text.charCodeAt(at)))
  return edge === (what === "boundary")
}

const run = (program: ReadonlyArray<Instruction>, text: string): boolean => {
  // The place where an instruction was last reached: each is followed once per character.
  const reached = new Int32Array(program.length).fill(-1)
  let current: Array<number> = []
  let next: Array<number> = []

  /** Follows everything that takes no character; true when the end is reached. */
  const follow = (start: number, at: number, into: Array<number>): boolean => {
    const open = [start]
    for (let pc = open.pop(); pc !== undefined; pc = open.pop()) {
      if (reached[pc] === at) continue
      reached[pc] = at
      const instruction = program[pc] as Instruction
      switch (instruction.op) {
        case "match":
          return true
        case "jump":
          open.push(instruction.to)
          break
        case "split":
          open.push(instruction.or, instruction.to)
          break
        case "assert":
          if (holds(instruction.what, text, at)) open.push(pc + 1)
          break
        case "test":
          into.push(pc)
      }
    }
    return false
  }

  for (let at = 0; at <= text.length; at++) {
    // Unanchored: a match may begin at every place.
    if (follow(0, at, current)) return true
    if (at === text.length) return false
    const code = text.charCodeAt(at)
    next = []
    for (const pc of current) {
      const instruction = program[pc] as Instruction
      if (instruction.op === "test" && reached[pc + 1] !== at + 1 && instruction.test(code) && follow(pc + 1, at + 1, next)) return true
    }
    current = next
  }
  return false
}

/** Compiles a pattern, or says why it is refused. `longest`: characters of a text that is matched at all. */
export const compile = (pattern: string, longest = textMax): Pattern | Refused => {
  const node = parse(pattern)
  if (node._tag === "Refused") return node
  try {
    const program = emit(node.root)
    return { _tag: "Pattern", instructions: program.length, matches: (text) => text.length <= longest && text.length * program.length <= workMax && run(program, text) }
  } catch (error) {
    if (error instanceof TooLarge) return { _tag: "Refused", message: "The pattern is too large: write fewer or smaller repetitions" }
    throw error
  }
}

/** Would the patterns hold up other requests when each of them is asked of every line of a text? A refused one counts nothing. */
export const areTooMuch = (patterns: ReadonlyArray<string>): boolean => patterns.reduce((sum, pattern) => {
  const made = compile(pattern)
  return made._tag === "Refused" ? sum : sum + made.instructions
}, 0) > instructionsMax
