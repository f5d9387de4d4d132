/** What a client may go on from: a response by `previous_response_id`, a conversation by `conversation`. */
import * as Context from "effect/Context"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

/** What a request asked for beside its answer; its body does not say it any more. */
export interface Asked {
  /** To be served in the background. */
  readonly inBackground: boolean
  /** The kept conversation that it goes on with, and how many of its input items stand there already; null = none. */
  readonly conversation: { readonly id: string; readonly known: number } | null
  /** Id of the response that it goes on with, whose items stand in its input already; null = none. */
  readonly previous: string | null
  /** Id of the response in the background that it makes, which began before; null = none. */
  readonly makes: string | null
}

export const nothing: Asked = { inBackground: false, conversation: null, previous: null, makes: null }

/** What an answer names of it, as members of a request; null = nothing. */
export const namesOf = (asked: Asked | undefined): Readonly<Record<string, unknown>> | null =>
  asked === undefined ? null
    : asked.conversation !== null ? { conversation: { id: asked.conversation.id } }
    : asked.previous !== null ? { previous_response_id: asked.previous }
    : null

/** Gets the body that is served, or why there is none. */
export type Expanded = (body: Buffer | PublicError, asked: Asked) => void

export class PreviousResponses extends Context.Service<PreviousResponses, {
  /**
   * Calls `done`, at once where nothing is to be looked up, with a body of the responses format: the one that was given, or one that
   * holds all that went before. What is not kept here stays named: its provider may know it.
   */
  readonly expand: (body: Buffer, key: ApiKey | null, done: Expanded) => void
  /** Makes a request that asks for a summary of the conversation out of one that asks to compact it. */
  readonly compact: (body: Buffer, key: ApiKey | null, done: Expanded) => void
}>()("gateway/ports/PreviousResponses") {}
