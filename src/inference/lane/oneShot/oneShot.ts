/** What the operations of all requests without a conversation share. */
import type { Face } from "#actors/request/ports/Face.ts"
import type { Units } from "#schemas/records/Units.ts"
import type { OneShotKind } from "#schemas/wire/formats.ts"
import type { Operation } from "#src/inference/lane/Operation.ts"
import type { Call } from "#src/inference/lane/stages/Stage.ts"
import { client as chatCompletions } from "#src/wire/chatCompletions/index.ts"
import * as Formats from "#src/wire/formats.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { RequestHead } from "#src/wire/WireFormat.ts"
import { OneShotEncoding } from "./OneShotEncoding.ts"

/** A call of one kind. */
export interface OneShotCall<Head extends RequestHead> extends Call {
  readonly codec: null
  readonly head: Head
}

export type OneShotOperation<Head extends RequestHead> = Operation<Head, OneShotCall<Head>>

export interface Options<Head extends RequestHead, Note> {
  readonly kind: OneShotKind
  readonly codec: OneShotCodec<Head, Note>
  /** Path for the ledger and metrics. */
  readonly endpoint: string
  /** What a key's `allowedEndpoints` calls it. */
  readonly category: string
  /** What an answer is expected to use beside tokens. */
  readonly units?: (head: Head, body: Readonly<Record<string, unknown>>) => Units | null
  /** Longest wait for an answer, ms. */
  readonly answerMs?: number
  /** The body is multipart/form-data. */
  readonly isForm?: boolean
}

const noNeeds = { tools: false, vision: false, structuredOutput: false }

/** Errors are told as in chat-completions. */
const common = Formats.faceOf(chatCompletions, false)

/** `opaque`: bytes that hold no frame of ours, so that nothing is said among them. */
const faceOf = (kind: OneShotKind): Face => ({ ...common, name: kind, opaque: true })

export const make = <Head extends RequestHead, Note>({ answerMs, category, codec, endpoint, isForm, kind, units }: Options<Head, Note>): OneShotOperation<Head> => {
  const face = faceOf(kind)
  return {
    endpoint, category, codec: null, face, errorBody: face.errorBody, format: kind, fenced: true, isForm,
    head: codec.head, answerMs, ...(units === undefined ? {} : { units }),
    about: ({ body }) => ({ promptTokens: Math.ceil(body.length / 4), promptPrefix: "", needs: noNeeds }),
    encode: ({ head }, { prompt }) => new OneShotEncoding(kind, codec, head, prompt)
  }
}
