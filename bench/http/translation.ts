/** What `bench/micro/translate.ts --json` answers, read as the bench needs it: the dearest pairs. */

export interface Dearest {
  readonly value: number
  /** Which pair it is, for people. */
  readonly pair: string
}

export interface Worst {
  /** Microseconds per event beyond the pass-through. */
  readonly event: Dearest
  /** (parse + translate) / parse of a text or an image of a megabyte. */
  readonly large: Dearest
  /** The same of 100 kB. */
  readonly middle: Dearest
  /** The same of many short messages. */
  readonly many: Dearest
  /** The same of an agent's conversation. */
  readonly agent: Dearest
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

const recordAt = (value: unknown, key: string): Record<string, unknown> => {
  const found = isRecord(value) ? value[key] : undefined
  if (!isRecord(found)) throw new Error(`translate: no ${key} in the results`)
  return found
}

const dearest = (worst: unknown, key: string, measure: string, words: ReadonlyArray<string>): Dearest => {
  const cost = recordAt(worst, key)
  const value = cost[measure]
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`translate: ${key}.${measure} is a number`)
  return { value, pair: words.map((word) => String(cost[word])).join(" ") }
}

/** The dearest pairs in the program's output, whose last line is the results. */
export const parseWorst = (output: string): Worst => {
  const last = output.trimEnd().split("\n").at(-1) ?? ""
  const worst = recordAt(JSON.parse(last) as unknown, "worst")
  return {
    event: dearest(worst, "event", "extra", ["face", "family", "kind"]),
    large: dearest(worst, "large", "ratio", ["face", "family", "shape", "bytes"]),
    middle: dearest(worst, "middle", "ratio", ["face", "family", "shape", "bytes"]),
    many: dearest(worst, "many", "ratio", ["face", "family", "shape", "bytes"]),
    agent: dearest(worst, "agent", "ratio", ["face", "family", "shape", "bytes"])
  }
}
