/** One call of a request beside the client's own: another conversation to given targets, its answer kept in memory. */
import type { PreparedCall } from "#actors/ensemble/Ensemble.ts"
import * as Instructions from "#actors/ensemble/instructions.ts"
import * as Inbound from "#actors/request/Inbound.ts"
import type { Client, RecoveryOptions, RouteView } from "#actors/request/Inbound.ts"
import type { Usage } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { changed, once } from "#actors/request/ports/WalkPolicy.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Answer, Conversation } from "#schemas/wire/conversation.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { PartSaid } from "#src/inference/conversations/answering.ts"
import { ConversationEncoding } from "#src/inference/conversations/ConversationEncoding.ts"
import type { EnsemblePart } from "#src/inference/conversations/ExpectedAnswer.ts"
import { repeatedOf } from "#src/inference/conversations/ownBytes.ts"
import type { ConversationServices } from "#src/inference/conversations/ConversationServices.ts"
import type { Route } from "#src/routing/Router.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import { answerIn } from "#src/wire/longIntegers/answerIn.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as Formats from "#src/wire/formats.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"
import { promptText } from "#src/wire/neutral/promptText.ts"
import type { ClientCodec, RequestHead } from "#src/wire/WireFormat.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** The request that a call belongs to. */
export interface Whole {
  readonly services: ConversationServices
  readonly codec: ClientCodec
  readonly head: RequestHead
  readonly prompt: Prompt
  readonly route: Pick<Route, "combo" | "config">
  /** As it would be served alone. */
  readonly inbound: Inbound.Inbound
  /** The client's own words, whose effort every call has (X-Gateway-Effort); absent: none has one. */
  readonly words?: ConversationEncoding
}

export interface PartRequest {
  readonly conversation: Conversation
  readonly targets: ReadonlyArray<Target>
  readonly view: RouteView
}

const noRecovery: RecoveryOptions = { holds: false, continues: false, stopsAtEmpty: false, sibling: false }
const noHeaders: ReadonlyArray<string> = []

/** It is told to other models, whose prompts are made on the loop. */
const tooLong = (characters: number): PublicError => Errors.make(
  "bad_gateway", `It answered ${characters} characters; an answer that other models are told may have ${Instructions.longestText} characters.`
)

/** No client waits for the bytes; it is given only a whole answer. */
export const silent: Omit<Client, "respond"> = {
  start: () => undefined, relay: () => true, onDrain: () => undefined, end: () => undefined, close: () => undefined
}

/** Walks its targets once, without callbacks. */
export const quietView = (view: RouteView, lastResort: boolean): RouteView => Inbound.changedView(view, {
  policy: changed(view.policy, ({ targetTimeoutMs }) => ({ ...once, targetTimeoutMs })),
  lastResort,
  succeeded: () => undefined,
  finished: null,
  terminal: (error) => error,
  line: () => ""
})

/** Other words in the place of the client's; however different they are, they are thought about as hard. */
export const saidInstead = ({ codec, head, prompt, route, services, words }: Omit<Whole, "inbound">, conversation: Conversation | null): ConversationEncoding =>
  words === undefined
    ? new ConversationEncoding(services, codec, head, prompt, route, conversation)
    : new ConversationEncoding(services, codec, head, prompt, route, conversation, "auto", words.autoEffort())

/** One model's call for an ensemble: it answers no client, and its answer is kept for the whole. */
export const partOf = (whole: Whole, { conversation, targets, view }: PartRequest): PreparedCall => {
  const { codec, head, inbound, prompt, services } = whole
  const encoding = saidInstead({ ...whole, head: { ...head, stream: false, wantsUsage: false } }, conversation)
  let answer: Answer | null = null
  let error: PublicError | null = null
  let large: PartSaid | null = null
  const own: EnsemblePart = {
    wanted: { stream: head.stream ? { request: repeatedOf(codec.name, prompt), includeUsage: head.wantsUsage } : null },
    heard: (said) => {
      large = said
      answer = said === null ? null : Instructions.answerOf(said.text)
      if (said !== null && said.characters > Instructions.longestText) error = tooLong(said.characters)
    }
  }
  let body: Uint8Array | string = ""
  /** The client that is given the answer as a stream asked for usage. */
  const counted = (said: Answer, estimate: Usage | null): Answer => said.usage === null && head.wantsUsage ? { ...said, usage: estimate } : said
  const streamOf = ({ isCounted, stream }: PartSaid, estimate: Usage | null): Uint8Array | null =>
    stream === null || isCounted || estimate === null || !head.wantsUsage ? stream : codec.usageAdded?.(asBuffer(stream), estimate) ?? stream
  return {
    inbound: Inbound.changed(inbound, {
      client: {
        ...silent,
        respond: (status, _headers, bytes) => {
          if (StatusReason.isOk(status)) body = bytes
          else answer = null
        }
      },
      face: {
        ...inbound.face,
        errorBody: (failure) => {
          error = failure
          return ""
        }
      },
      stream: false,
      forwardUsage: false,
      progress: false,
      recovery: noRecovery,
      targets,
      route: view,
      prepare: (target, text) => encoding.prepare(services.bodies, target, text),
      bodyFor: (target) => encoding.bodyFor(target),
      headersFor: (target, continues) => ForwardHeaders.withoutRepeatKey(inbound.headersFor(target, continues)),
      omittedFor: (target) => encoding.omittedFor(target),
      dialectFor: (target) => {
        const family = Formats.family(target.wireFormat)
        const dialect = encoding.dialectFor(target, services, own)
        return Dialects.readingBy(dialect, (bytes) => {
          const read = answerIn(family, bytes)
          large = null
          answer = read !== null && "choices" in read ? read : null
          return dialect.readAnswer(bytes)
        })
      },
      promptText: () => promptText(conversation),
      // The client's words are needed until the last call.
      release: () => undefined,
      responseHeaders: () => noHeaders,
      errorHeaders: () => noHeaders
    }),
    given: (estimate) => ({
      answer: error === null && body !== "" && answer !== null ? counted(answer, estimate) : null,
      body, stream: large === null ? null : streamOf(large, estimate), error
    })
  }
}
