/** Bytes as an upstream lends them: in memory that is used for something else as soon as the call with them has returned. */
import type { StreamTap } from "#actors/request/ports/Face.ts"

const lend = <A>(bytes: Uint8Array, use: (lent: Buffer) => A): A => {
  const lent = Buffer.from(bytes)
  const used = use(lent)
  lent.fill(0xee)
  return used
}

/** Feeds a scanner or decoder. */
export const pushLent = <A>(to: { readonly push: (bytes: Buffer) => A }, bytes: Uint8Array): A => lend(bytes, (lent) => to.push(lent))

/** Feeds a tap; answers a copy of what it hands on. */
export const passLent = (tap: Pick<StreamTap, "push">, bytes: Uint8Array): Buffer | null => lend(bytes, (lent) => {
  const out = tap.push(lent)
  return out === null ? null : Buffer.from(out)
})
