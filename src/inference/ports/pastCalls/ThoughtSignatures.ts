/**
 * Signatures of tool calls whose client's format has no field for them, by caller and tool call id. Nothing waits for it: a
 * forgotten or unknown signature counts as absent.
 */
import * as Context from "effect/Context"
import type { Signature } from "#schemas/wire/conversation.ts"

export class ThoughtSignatures extends Context.Service<ThoughtSignatures, {
  /** `scope`: id of the API key, or `anonymous`; a caller never reads what another one's answer held. */
  readonly remember: (scope: string, callId: string, signature: Signature) => void
  readonly recall: (scope: string, callId: string) => Signature | null
}>()("gateway/ports/ThoughtSignatures") {}
