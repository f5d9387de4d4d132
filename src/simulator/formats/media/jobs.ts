/** Jobs whose state is their id: the model, what is made, and when it is done. The simulator remembers nothing. */
import * as Predicate from "effect/Predicate"

/** A job takes so long, ms. */
const JOB_MS = 500

export interface SimulatedJob {
  readonly model: string
  /** What stands for the prompt. */
  readonly mark: string
  readonly seconds: number
  /** ms since the epoch. */
  readonly readyAt: number
}

export const begin = (model: string, mark: string, seconds: number): string =>
  Buffer.from(JSON.stringify([model, mark, seconds, Date.now() + JOB_MS])).toString("base64url")

/** Null when the id is none. */
export const read = (id: string): SimulatedJob | null => {
  try {
    const said: unknown = JSON.parse(Buffer.from(id, "base64url").toString("utf8"))
    if (!Array.isArray(said)) return null
    const [model, mark, seconds, readyAt] = said as ReadonlyArray<unknown>
    return Predicate.isString(model) && Predicate.isString(mark) && Predicate.isNumber(seconds) && Predicate.isNumber(readyAt) ? { model, mark, seconds, readyAt } : null
  } catch {
    return null
  }
}

export const isDone = ({ readyAt }: SimulatedJob): boolean => Date.now() >= readyAt
