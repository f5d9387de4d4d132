/**
 * What models thought before they called tools, by caller and tool call id, for providers that want it back from clients that drop
 * it. Nothing waits for it: what is forgotten or unknown counts as absent.
 */
import * as Context from "effect/Context"

/** The thoughts of one turn. */
export interface Thought {
  /** Id of the provider. */
  readonly provider: string
  /** The model's id upstream. */
  readonly model: string
  readonly reasoning: string
}

/** One call whose thoughts are kept. */
export interface KeptCall extends Thought {
  readonly callId: string
}

/** Which ones are forgotten. */
export type Forgotten = { readonly _tag: "All" } | { readonly _tag: "Call"; readonly callId: string } | { readonly _tag: "Provider"; readonly provider: string }

export class KeptReasoning extends Context.Service<KeptReasoning, {
  /** `scope`: id of the API key, or `anonymous`; a caller never reads what another one's answer held. */
  readonly remember: (scope: string, callIds: ReadonlyArray<string>, thought: Thought) => void
  readonly recall: (scope: string, callId: string) => string | null
  /** Of this node, the newest first. `until`: ms since the epoch. */
  readonly list: () => ReadonlyArray<{ readonly value: KeptCall; readonly until: number }>
  /** Recalls of this node that found something, and those that did not. */
  readonly counts: () => { readonly hits: number; readonly misses: number }
  /** On every node; answers how many calls this one forgot. */
  readonly forget: (what: Forgotten) => number
}>()("gateway/ports/KeptReasoning") {}
