/** The ids of one conversation's tool calls in the one form that some servers take. Pure. */
import { ofNine } from "#src/wire/shortIds.ts"

/**
 * Nine letters and digits for each id, by the id and those before it alone: a longer conversation says the same of its beginning. Two ids
 * never become one. What is of that form already stays, so that ids which the server made come back to it as they were.
 */
export class ToolCallIds {
  readonly #known = new Map<string, string>()
  readonly #taken = new Set<string>()

  of(id: string): string {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    let nine = ofNine(id)
    for (let tries = 1; this.#taken.has(nine); tries++) nine = ofNine(`${id}#${tries}`)
    this.#known.set(id, nine)
    this.#taken.add(nine)
    return nine
  }
}
