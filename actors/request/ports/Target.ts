/** Where one attempt goes: everything that does not change between requests, built once per configuration snapshot. */
import type { OutboundProxy } from "./OutboundProxy.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { BodyRules, Price } from "#schemas/Provider.ts"
import type { Effort } from "#schemas/wire/conversation.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import type { ModelCompat } from "#schemas/words/ModelFormats.ts"
import type { SystemTransform } from "#schemas/instructions/SystemTransforms.ts"

/** Thinking, as the requested model id states it: off (a no-thinking variant), on, or at a level. */
export type ThinkingVariant = "off" | "on" | Effort

/** Calls that a combo allows at once on one of its models (`concurrencyPerModel`). */
export interface ModelGate {
  /** Of the combo and the model; the connections of a model share it. */
  readonly id: string
  /** Calls at once. */
  readonly max: number
  /** Calls that may wait for it. */
  readonly depth: number
  /** Longest wait, ms. */
  readonly timeoutMs: number
}

/** A change that a rule of an operator makes in a request's body. Plain data: threads are given it. */
export type PayloadEdit =
  /** `text`: JSON that is put there; of `default`, only where nothing stands. */
  | { readonly kind: "default" | "override"; readonly path: ReadonlyArray<string | number>; readonly text: string }
  | { readonly kind: "filter"; readonly path: ReadonlyArray<string | number> }

export interface Target {
  /** Registry id or node id: what connections, breakers and the ledger are keyed by. */
  readonly provider: string
  /** Short public label for headers; never a generated node id. */
  readonly providerAlias: string
  /** Canonical public id, `<provider>/<model>`. */
  readonly publicModel: string
  /** The id that goes upstream. */
  readonly model: string
  /** Null for a provider without credentials. */
  readonly connection: Connection | null
  /** The family of the upstream at this path. */
  readonly wireFormat: TargetFamily
  readonly origin: string
  readonly path: string
  /** Path of a streamed call; most vendors have one path for both. */
  readonly streamPath: string
  /** Asked as another call where `path` answers 404: servers of the same format differ in it. Absent or null: there is none. */
  readonly secondPath?: string | null
  /** Null when the registry does not know. */
  readonly maxOutputTokens: number | null
  /** Whether the model can think; null when the registry does not know. */
  readonly reasoning: boolean | null
  /** Null when the id says nothing about thinking. */
  readonly thinking: ThinkingVariant | null
  /** Credential and required headers, flat and lower-case; holds secrets, so it is never logged. */
  readonly headers: ReadonlyArray<string>
  /** Null when the model is unpriced: its cost is 0. */
  readonly price: Price | null
  /** False when the connection opted out of stream_options. */
  readonly streamOptions: boolean
  /** What its calls leave by; null = they go direct. */
  readonly proxy: OutboundProxy | null
  /** The connection whose short-lived token is sent as Bearer beside `headers` (port Credentials); null when they are whole. */
  readonly tokenFrom?: string | null
  /** What the provider's bodies need beyond their format. */
  readonly bodyRules?: BodyRules | null
  /** What an operator says of the model's bodies beside their format; absent or null: nothing. */
  readonly compat?: ModelCompat | null
  /** What rules of operators change in its bodies, after all else; absent or null: nothing. */
  readonly payload?: ReadonlyArray<PayloadEdit> | null
  /** What operators change in the instructions that it is given, before those rules; absent or null: nothing. */
  readonly transforms?: ReadonlyArray<SystemTransform> | null
  /** What its upstream refuses by name is left out of a second call, but these paths; absent or null: nothing is. */
  readonly learns?: ReadonlyArray<string> | null
  /** The path that was left out of this request's call, because its upstream refused it by name; absent or null: none. */
  readonly learned?: string | null
  /** What the model reads beside text; absent or null when the registry does not know. */
  readonly inputModalities?: ReadonlyArray<string> | null
  /** Absent when no cap is set. */
  readonly gate?: ModelGate
}

/** Why no call for a key may go to a target; null = it may. Cheap, because it runs before every wire call. */
export type TargetGuard = (target: Target) => PublicError | null
