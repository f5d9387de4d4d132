/**
 * The pairs with which the heads of a server begin, and their text, made once: most heads say the same of the gateway before they say
 * something of their request. Pairs that are not joined again save a small answer 0.4 kB and a third of its joining.
 */
import { headTail } from "./responseHead.ts"

/** A shorter beginning is not worth a native call of its own; in elements of the flat list. */
const LEAST = 6
/** Heads in a row that begin otherwise, before the beginning is learnt anew. */
const MOST_MISSES = 64

/** Some pairs, and as text for one native call: the value of the first one carries the others. */
export interface Beginning {
  readonly pairs: ReadonlyArray<string>
  readonly name: string
  readonly text: string
}

export const noBeginning: Beginning = { pairs: [], name: "", text: "" }

export class HeadBeginning {
  #known = noBeginning
  #misses = MOST_MISSES

  /** The beginning of this list; `noBeginning` when it begins otherwise than most. */
  of(headers: ReadonlyArray<string>): Beginning {
    const { pairs } = this.#known
    let same = 0
    while (same < pairs.length && headers[same] === pairs[same] && headers[same + 1] === pairs[same + 1]) same += 2
    if (same === pairs.length && same > 0) {
      this.#misses = 0
      return this.#known
    }
    if (same >= LEAST) return this.#learn(headers.slice(0, same))
    if (++this.#misses > MOST_MISSES && headers.length >= LEAST) this.#learn(headers.slice())
    return noBeginning
  }

  #learn(pairs: ReadonlyArray<string>): Beginning {
    this.#misses = 0
    return this.#known = { pairs, name: pairs[0] ?? "", text: headTail(pairs) }
  }
}
