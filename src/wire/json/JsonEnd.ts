/** Tells when an object or a list that comes in pieces is whole. Until it is, what it costs grows with its bytes alone, however often it is asked. */
import * as Json from "#src/wire/json/json.ts"
import { unescape } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

export class JsonEnd {
  /** What was not looked at. */
  #fresh: Literal = ""
  /** Brackets that are open. */
  #open = 0
  #isString = false
  #isEscaped = false
  /** The first bracket was closed. */
  #isClosed = false
  /** It will not be whole any more. */
  #isBroken = false

  push(literal: Literal): void {
    this.#fresh += literal
  }

  /** `literal`: all that was pushed. */
  isReached(literal: Literal): boolean {
    if (this.#fresh !== "") this.#look(unescape(this.#fresh))
    this.#fresh = ""
    if (!this.#isClosed || this.#open > 0 || this.#isString || this.#isBroken) return false
    this.#isBroken = !Json.isWhole(unescape(literal))
    return !this.#isBroken
  }

  #look(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const character = text[i]
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isString) {
        if (character === "\"") this.#isString = false
        else if (character === "\\") this.#isEscaped = true
      } else if (character === "\"") this.#isString = true
      else if (character === "{" || character === "[") this.#open++
      else if (character === "}" || character === "]") this.#isClosed = --this.#open <= 0
    }
  }
}
