/** The syntax of `linearRegex`: JavaScript's without flags, back references and lookaround. */

/** Whether a UTF-16 code unit is meant. */
export type Test = (code: number) => boolean

export type RegexNode =
  | { readonly kind: "test"; readonly test: Test }
  | { readonly kind: "assert"; readonly what: "start" | "end" | "boundary" | "inside" }
  | { readonly kind: "sequence"; readonly items: ReadonlyArray<RegexNode> }
  | { readonly kind: "choice"; readonly options: ReadonlyArray<RegexNode> }
  /** `most` null = any number. */
  | { readonly kind: "repeat"; readonly body: RegexNode; readonly least: number; readonly most: number | null }

export type Parsed = { readonly _tag: "Parsed"; readonly root: RegexNode } | { readonly _tag: "Refused"; readonly message: string }

/** Most nested groups; more than any real pattern has. */
const depthMax = 50

class PatternError extends Error {}

const is = (wanted: number): Test => (code) => code === wanted
const isDigit: Test = (code) => code >= 48 && code <= 57
const isWord: Test = (code) => isDigit(code) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
const isSpace: Test = (code) => /\s/.test(String.fromCharCode(code))
const isLineEnd: Test = (code) => code === 10 || code === 13 || code === 0x2028 || code === 0x2029
const not = (test: Test): Test => (code) => !test(code)

const sets: Readonly<Record<string, Test>> = { d: isDigit, D: not(isDigit), w: isWord, W: not(isWord), s: isSpace, S: not(isSpace) }
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

/** Both ends are meant. */
type Range = readonly [low: number, high: number]

/** In order, and none touches the next. */
const merged = (ranges: ReadonlyArray<Range>): ReadonlyArray<Range> => {
  const out: Array<Range> = []
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1)
    if (last !== undefined && low <= last[1] + 1) out[out.length - 1] = [last[0], Math.max(last[1], high)]
    else out.push([low, high])
  }
  return out
}

/** Asks a long set no longer than a short one: by halves. */
const inSet = (ranges: ReadonlyArray<Range>, classes: ReadonlyArray<Test>): Test => (code) => {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const [from, to] = ranges[middle] as Range
    if (code < from) high = middle - 1
    else if (code > to) low = middle + 1
    else return true
  }
  return classes.some((test) => test(code))
}

class Reader {
  private at = 0
  private depth = 0
  private readonly text: string
  constructor(text: string) {
    this.text = text
  }

  whole(): RegexNode {
    const root = this.choice()
    if (this.at < this.text.length) throw new PatternError("A closing parenthesis has no opening one")
    return root
  }

  private eat(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false
    this.at += token.length
    return true
  }

  private choice(): RegexNode {
    const options = [this.sequence()]
    while (this.eat("|")) options.push(this.sequence())
    return options.length === 1 ? options[0] as RegexNode : { kind: "choice", options }
  }

  private sequence(): RegexNode {
    const items: Array<RegexNode> = []
    while (this.at < this.text.length && this.text[this.at] !== "|" && this.text[this.at] !== ")") items.push(this.repeated())
    return { kind: "sequence", items }
  }

  private repeated(): RegexNode {
    const body = this.atom()
    const times = this.times()
    if (times === null) return body
    if (body.kind === "assert") throw new PatternError("There is nothing to repeat")
    // Greedy or lazy makes no difference to whether something matches.
    this.eat("?")
    return { kind: "repeat", body, ...times }
  }

  private times(): { readonly least: number; readonly most: number | null } | null {
    if (this.eat("*")) return { least: 0, most: null }
    if (this.eat("+")) return { least: 1, most: null }
    if (this.eat("?")) return { least: 0, most: 1 }
    if (this.text[this.at] !== "{") return null
    const counted = /^\{(\d{1,6})(,(\d{0,6}))?\}/.exec(this.text.slice(this.at, this.at + 20))
    if (counted === null) throw new PatternError("A brace that repeats nothing must be written \\{")
    this.at += counted[0].length
    const least = Number(counted[1])
    const most = counted[2] === undefined ? least : counted[3] === "" ? null : Number(counted[3])
    if (most !== null && most < least) throw new PatternError("The numbers of a repetition are out of order")
    return { least, most }
  }

  private atom(): RegexNode {
    const character = this.text[this.at++] as string
    switch (character) {
      case "(":
        return this.group()
      case "[":
        return { kind: "test", test: this.set() }
      case ".":
        return { kind: "test", test: not(isLineEnd) }
      case "^":
        return { kind: "assert", what: "start" }
      case "$":
        return { kind: "assert", what: "end" }
      case "\\":
        return this.escape()
      case "*":
      case "+":
      case "?":
        throw new PatternError("There is nothing to repeat")
      case "{":
        throw new PatternError("A brace that repeats nothing must be written \\{")
      default:
        return { kind: "test", test: is(character.charCodeAt(0)) }
    }
  }

  private group(): RegexNode {
    if (++this.depth > depthMax) throw new PatternError("The groups are nested too deep")
    if (!this.eat("?:") && this.text[this.at] === "?") {
      const named = /^\?<[A-Za-z_$][\w$]*>/.exec(this.text.slice(this.at, this.at + 100))
      if (named === null) throw new PatternError("Lookaround and group flags are not allowed")
      this.at += named[0].length
    }
    const node = this.choice()
    if (!this.eat(")")) throw new PatternError("A group is not closed")
    this.depth--
    return node
  }

  private escape(): RegexNode {
    const next = this.text[this.at]
    if (next === "b" || next === "B") {
      this.at++
      return { kind: "assert", what: next === "b" ? "boundary" : "inside" }
    }
    const test = this.escaped()
    return { kind: "test", test: typeof test === "number" ? is(test) : test }
  }

  /** After the backslash: a set, or the code of one character. */
  private escaped(): Test | number {
    const character = this.text[this.at++]
    if (character === undefined) throw new PatternError("The pattern ends in a backslash")
    const set = sets[character]
    if (set !== undefined) return set
    const control = controls[character]
    if (control !== undefined) return control
    if (character === "x" || character === "u") {
      const length = character === "x" ? 2 : 4
      const digits = this.text.slice(this.at, this.at + length)
      if (digits.length < length || !/^[0-9a-fA-F]+$/.test(digits)) throw new PatternError(`\\${character} needs ${length} hexadecimal digits`)
      this.at += length
      return parseInt(digits, 16)
    }
    if (character === "0" && !isDigit(this.text.charCodeAt(this.at))) return 0
    if (isWord(character.charCodeAt(0))) {
      throw new PatternError(isDigit(character.charCodeAt(0)) || character === "k" ? "Back references are not allowed" : `The escape \\${character} is not known`)
    }
    return character.charCodeAt(0)
  }

  private set(): Test {
    const negated = this.eat("^")
    const ranges: Array<Range> = []
    const classes = new Set<Test>()
    const take = (member: Test | number): void => {
      if (typeof member === "number") ranges.push([member, member])
      else classes.add(member)
    }
    while (!this.eat("]")) {
      const low = this.member()
      if (this.text[this.at] === "-" && this.text[this.at + 1] !== "]" && this.at + 1 < this.text.length) {
        this.at++
        const high = this.member()
        if (typeof low !== "number" || typeof high !== "number") {
          // `[\w-.]` is no range: the dash is meant as itself.
          for (const end of [low, 45, high]) take(end)
          continue
        }
        if (high < low) throw new PatternError("The ends of a range are out of order")
        ranges.push([low, high])
      } else take(low)
    }
    const any = inSet(merged(ranges), [...classes])
    return negated ? not(any) : any
  }

  private member(): Test | number {
    const character = this.text[this.at++]
    if (character === undefined) throw new PatternError("A set of characters is not closed")
    if (character !== "\\") return character.charCodeAt(0)
    if (this.eat("b")) return 8
    if (this.eat("-")) return 45
    return this.escaped()
  }
}

export const parse = (text: string): Parsed => {
  try {
    return { _tag: "Parsed", root: new Reader(text).whole() }
  } catch (error) {
    if (error instanceof PatternError) return { _tag: "Refused", message: error.message }
    throw error
  }
}
