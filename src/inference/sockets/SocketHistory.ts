/**
 * What the newest response of a socket was made of, so that the next request may send only what is new and name it by
 * `previous_response_id`. It is kept while the socket is open and stored nowhere.
 */
import type { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as Members from "#src/wire/json/members.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"

/** A longer history is not kept; the client sends it whole. */
export const MOST_BYTES = 16 * 1024 * 1024

export class SocketHistory {
  private readonly held: HeldBytes
  private newest: { readonly id: string; readonly items: Buffer; readonly release: () => void } | null = null

  constructor(held: HeldBytes) {
    this.held = held
  }

  /** All that went before the response of this id; null when it is not the newest one. */
  before(id: string): Buffer | null {
    return this.newest !== null && this.newest.id === id ? this.newest.items : null
  }

  /** `response`: the JSON text of a finished response; `input`: the items that it answers. */
  note(input: Buffer, response: Buffer): void {
    const members = Members.of(response)
    const id = Members.text(members?.get("id"))
    const output = members?.get("output")
    if (id !== null && output !== undefined) this.keep(id, ItemTexts.joined(input, ItemTexts.replayed(output)))
  }

  keep(id: string, items: Buffer): void {
    this.forget()
    const release = items.length > MOST_BYTES ? null : this.held.hold(items.length)
    if (release !== null) this.newest = { id, items: Buffer.from(items), release }
  }

  forget(): void {
    this.newest?.release()
    this.newest = null
  }
}
