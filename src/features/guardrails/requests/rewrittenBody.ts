/** A large body that takes the place of another one: made in a thread, taken by the loop. */
import * as Crypto from "node:crypto"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { outlineOf } from "#src/inference/lane/bodies/outline.ts"
import type { Large } from "#src/inference/lane/bodies/Prompt.ts"
import { mediaOf } from "#src/routing/capabilities/demands.ts"
import { leastPromptTokens } from "#src/wire/contextWindow/promptTokens.ts"

/** The body with what the loop has to know of it. */
export interface RewrittenBody extends Pick<Jobs.OpenedBody, "outline" | "digest" | "identity" | "leastTokens" | "media"> {
  /** In memory that threads share. */
  readonly bytes: Uint8Array
}

/** What came of a body; its member that only a large one has is absent for others. */
export interface Changed {
  readonly body: Buffer
  readonly parsed: Record<string, unknown>
  readonly large?: Large
}

export const of = (format: FormatName, written: Uint8Array, body: Record<string, unknown>): RewrittenBody => {
  const bytes = Jobs.sharedCopyOf(written)
  return {
    bytes, outline: outlineOf(body), digest: Crypto.hash("sha256", bytes, "hex"), identity: Identity.digestOf(format, body),
    leastTokens: leastPromptTokens(format, body), media: mediaOf(body)
  }
}

/** `id`: a number that no other body of this process has. */
export const inPlaceOf = (large: Large, { bytes, digest, identity, leastTokens, media, outline }: RewrittenBody, id: number): Changed => ({
  body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  parsed: { ...outline, ...large.grown },
  large: { ...large, id, digest, identity: large.identity === null ? null : identity, leastTokens, media }
})
