/** Jobs of upstreams: whether a reply is the last one, and where the job is asked for again. Pure. */
import type { Dialect, JobReply } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as AttemptFailure from "./attemptFailure.ts"

/** The next question, on the target's own origin. */
interface Next {
  readonly path: string
  readonly afterMs: number
}

/** Why there is none although the job is not over. */
interface GivenUp {
  readonly outcome: Outcome
  readonly error: PublicError
}

/** Null: the reply is the last one. `last`: where the job was asked for last. */
export const next = ({ pollOf }: Pick<Dialect, "pollOf">, reply: JobReply, target: Target, last: string): Next | GivenUp | null => {
  const poll = pollOf?.(reply) ?? null
  if (poll === null) return null
  if ("code" in poll) return { outcome: "gateway-timeout", error: poll }
  const path = poll.url === null ? last : pathOnOrigin(poll.url, target)
  return path === null ? { outcome: "parse-error", error: AttemptFailure.malformed(target) } : { path, afterMs: poll.afterMs }
}

/** Path and query of an address that an upstream named; null when it is not on the target's own origin, where the credential belongs. */
const pathOnOrigin = (address: string, { origin }: Pick<Target, "origin">): string | null => {
  const url = URL.canParse(address, origin) ? new URL(address, origin) : null
  return url === null || url.origin !== origin ? null : url.pathname + url.search
}
