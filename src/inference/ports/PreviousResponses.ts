/** Responses that a client may go on from by `previous_response_id`. */
import * as Context from "effect/Context"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

export class PreviousResponses extends Context.Service<PreviousResponses, {
  /**
   * Calls `done`, at once where nothing is to be looked up, with a body of the responses format: the one that was given, or one that
   * holds all that went before the response that it names. A response that is not kept here stays named: its provider may know it.
   * `inBackground`: the request asked to be served in the background, which the body does not say any more.
   */
  readonly expand: (body: Buffer, key: ApiKey | null, done: (body: Buffer | PublicError, inBackground: boolean) => void) => void
  /** Makes a request that asks for a summary of the conversation out of one that asks to compact it. */
  readonly compact: (body: Buffer, key: ApiKey | null, done: (body: Buffer | PublicError, inBackground: boolean) => void) => void
}>()("gateway/ports/PreviousResponses") {}
