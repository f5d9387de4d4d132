/**
 * Members of an error object. An upstream's error in the client's own format keeps the vendor's words and details; what the gateway
 * knows stands beside them, never in their place. Any other error is written in the client's format from the start.
 */
import type { PublicError } from "#schemas/errors.ts"
import { oneShotKinds, type TargetFamily } from "#schemas/wire/formats.ts"

export type Members = Readonly<Record<string, unknown>>

/** What of an error its renderers read. */
export type ClientError = Pick<PublicError, "status" | "code" | "type" | "message" | "retryAfterSeconds" | "extra" | "upstream">

/** The vendor's error object for a client of one of `families`; null when the error is another family's, or the gateway's. */
export const vendorOf = ({ upstream }: ClientError, families: ReadonlyArray<TargetFamily>): Members | null =>
  upstream !== null && families.includes(upstream.family) ? upstream.error : null

/** `ours` for what the vendor's object does not say, the vendor's own members, and what else the gateway knows. */
export const merged = (ours: Members, vendor: Members | null, extra: PublicError["extra"]): Members =>
  vendor === null ? { ...ours, ...extra } : { ...ours, ...extra, ...vendor }

/** The families whose vendors share one error object: message, type, param and code. */
const commonFamilies: ReadonlyArray<TargetFamily> = ["chat-completions", "responses", ...oneShotKinds]

/** The error object of the common form, which chat-completions, completions and responses share. */
export const common = (error: ClientError): Members =>
  merged({ message: error.message, type: error.type, code: error.code }, vendorOf(error, commonFamilies), error.extra)

/** The same without what only the body of a refused request says: the error of a response that failed. */
export const commonInStream = (error: ClientError): Members & { readonly code: string; readonly message: string } => {
  const vendor = vendorOf(error, commonFamilies)
  const ours = { code: error.code, message: error.message }
  if (vendor === null) return ours
  // A response's error always has a code.
  return { ...vendor, ...ours, code: typeof vendor["code"] === "string" ? vendor["code"] : error.code }
}
