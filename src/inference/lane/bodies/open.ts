/** The first job about a large body: its bounds, its head, and the outline that the loop works with. */
import * as Crypto from "node:crypto"
import { PublicError } from "#schemas/errors.ts"
import { isOneShot } from "#schemas/wire/formats.ts"
import * as Identity from "./identity.ts"
import * as JsonBounds from "#src/platform/structures/jsonBounds.ts"
import { leastPromptTokens } from "#src/wire/contextWindow/promptTokens.ts"
import * as Formats from "#src/wire/formats.ts"
import { mediaOf } from "#src/routing/capabilities/demands.ts"
import * as Codecs from "#src/wire/oneShot/codecs.ts"
import * as Jobs from "./jobs.ts"
import { outlineOf } from "./outline.ts"

export const run: Jobs.RunJob<Jobs.Open, Jobs.OpenedBody | Jobs.MovedBody> = (job, parse) => {
  const bytes = Jobs.bufferOf(job)
  const size = JsonBounds.measure(bytes)
  if ("what" in size) return Jobs.refusalOf(size)
  const body = parse(job)
  if (body instanceof PublicError) return body
  if (job.format !== null) {
    const moved = isOneShot(job.format) ? null : Formats.client(job.format).withMessages?.(body, bytes) ?? null
    if (moved !== null) return moved instanceof PublicError ? moved : { moved }
    const head = Formats.headOf(job.format)(job.fromPath ? { ...body, model: "model" } : body)
    if (head instanceof PublicError) return head
  }
  return {
    outline: outlineOf(body), containers: size.containers, digest: Crypto.hash("sha256", bytes, "hex"),
    identity: job.format === null || isOneShot(job.format) ? null : Identity.digestOf(job.format, body),
    leastTokens: job.format === null || isOneShot(job.format) ? 0 : leastPromptTokens(job.format, body),
    media: job.format === null || isOneShot(job.format) ? null : mediaOf(body),
    units: job.format !== null && isOneShot(job.format) ? Codecs.of(job.format).units?.(body) ?? null : null
  }
}
