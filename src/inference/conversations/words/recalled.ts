/** What past tool calls came with, for providers that want it back from clients that drop it: signatures, and thoughts. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Conversation, Signature } from "#schemas/wire/conversation.ts"
import type { KeptReasoning } from "#src/inference/ports/pastCalls/KeptReasoning.ts"
import type { ThoughtSignatures } from "#src/inference/ports/pastCalls/ThoughtSignatures.ts"
import { wantsReasoning } from "#src/wire/chatCompletions/models.ts"
import * as KeptThoughts from "#src/wire/chatCompletions/request/keptThoughts.ts"
import { type Heard, hearing } from "#src/wire/chatCompletions/stream/hearing.ts"
import * as Formats from "#src/wire/formats.ts"
import type * as Splice from "#src/wire/json/splice.ts"
import { withRecalled } from "#src/wire/neutral/recalled.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

type Body = Readonly<Record<string, unknown>>

/** What is remembered of the calls of one caller. */
export interface Memory {
  readonly signatures: Pick<ThoughtSignatures["Service"], "recall" | "remember">
  readonly keptReasoning: Pick<KeptReasoning["Service"], "recall" | "remember">
}

/** Id of the key that asks, or `anonymous`. */
type Tenant = string

/** The model refuses past calls without their thoughts. */
const wantsThoughts = ({ model, wireFormat }: Target): boolean => wireFormat === "chat-completions" && wantsReasoning(model)

const thoughts = (memory: Memory, tenant: Tenant): KeptThoughts.Recall => (callId) => memory.keptReasoning.recall(tenant, callId)

const noEdits: ReadonlyArray<Splice.Edit> = []

/** Changes of a body in the client's format. */
export const editsOf = (memory: Memory, tenant: Tenant, target: Target, bytes: Buffer, body: Body): ReadonlyArray<Splice.Edit> =>
  wantsThoughts(target) ? KeptThoughts.editsOf(bytes, body, thoughts(memory, tenant)) : noEdits

/** The same in the body itself. */
export const ofBody = (memory: Memory, tenant: Tenant, target: Target, body: Body): Body =>
  wantsThoughts(target) ? KeptThoughts.ofBody(body, thoughts(memory, tenant)) : body

/** `signed`: the family signs calls, and the client's format has no field for that. */
export const ofConversation = (memory: Memory, tenant: Tenant, target: Target, signed: boolean, conversation: Conversation): Conversation => {
  if (signed) return withRecalled(conversation, Formats.family(target.wireFormat).name, (callId) => memory.signatures.recall(tenant, callId))
  return wantsThoughts(target) ? KeptThoughts.ofConversation(conversation, thoughts(memory, tenant)) : conversation
}

/** What keeps the thoughts of an answer's calls; undefined for a model that does not want them back. */
export const heardFor = (memory: Memory, tenant: Tenant, target: Target): Heard | undefined => {
  if (!wantsThoughts(target)) return undefined
  const { model, provider } = target
  return (callIds, reasoning) => memory.keptReasoning.remember(tenant, callIds, { provider, model, reasoning })
}

/** The target's family, which tells `heard` of its calls. */
export const familyOf = (target: Target, heard: Heard | undefined): UpstreamCodec => {
  const family = Formats.family(target.wireFormat)
  return heard === undefined ? family : hearing(family, heard)
}

/** Keeps signatures of this tenant's tool calls. */
export const remembererOf = (memory: Memory, tenant: Tenant) => (callId: string, signature: Signature): void =>
  memory.signatures.remember(tenant, callId, signature)

/** What of these calls is remembered. */
export const known = <A>(memory: { readonly recall: (scope: string, callId: string) => A | null }, tenant: Tenant, callIds: ReadonlyArray<string>): ReadonlyMap<string, A> =>
  new Map(callIds.flatMap((id) => {
    const found = memory.recall(tenant, id)
    return found === null ? [] : [[id, found] as const]
  }))
