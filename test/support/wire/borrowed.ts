/** Bytes as an upstream lends them: in memory that is used for something else as soon as the call with them has returned. */
import type { StreamTap } from "#actors/request/ports/Face.ts"

const lend = <A>(bytes: Uint8Array, use: (borrowed: Buffer) => A): A => {
  const borrowed = Buffer.from(bytes)
  const used = use(borrowed)
  borrowed.fill(0xee)
  return used
}

/** Feeds a scanner or decoder. */
export const pushBorrowed = <A>(to: { readonly push: (bytes: Buffer) => A }, bytes: Uint8Array): A => lend(bytes, (borrowed) => to.push(borrowed))

/** Feeds a tap; answers a copy of what it hands on. */
export const passBorrowed = (tap: Pick<StreamTap, "push">, bytes: Uint8Array): Buffer | null => lend(bytes, (borrowed) => {
  const out = tap.push(borrowed)
  return out === null ? null : Buffer.from(out)
})

/** What a tap handed on and read of a stream that came in these pieces. */
export const tapped = (tap: StreamTap & { readonly finished?: boolean }, pieces: ReadonlyArray<Uint8Array>) => {
  const out: Array<Uint8Array> = []
  for (const piece of pieces) out.push(passBorrowed(tap, piece) ?? Buffer.alloc(0))
  out.push(tap.end() ?? Buffer.alloc(0))
  const { alive, error, finished, malformed, terminal, usage, useful } = tap
  return { out: Buffer.concat(out).toString(), alive, error, finished, malformed, terminal, usage, useful, text: tap.outputText() }
}
