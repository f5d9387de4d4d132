/** From a request to the bytes that each target is sent, and how its answer is read. */
import * as Effect from "effect/Effect"
import type { Dialect } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, Signature } from "#schemas/wire/conversation.ts"
import type { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Encoding } from "#src/inference/lane/Operation.ts"
import * as ComboWords from "./comboWords.ts"
import { speaking, type EncodedBody } from "./conversationJobs.ts"
import { type AnswerServices, type EnsemblePart, ExpectedAnswer } from "./ExpectedAnswer.ts"
import { jsonOf, preset, recordOf, repeatedOf, ruled, sentOf, splice } from "./ownBytes.ts"
import type { ConversationServices } from "./ConversationServices.ts"
import * as Recalled from "./words/recalled.ts"
import * as Thinking from "./words/thinking.ts"
import { type AutoEffort, autoEffort, effortEdits, shapeOf, unshown } from "#src/routing/auto/effort.ts"
import * as ReasoningBuffer from "#src/routing/combos/reasoningBuffer.ts"
import { conversationIn } from "#src/wire/longIntegers/conversationIn.ts"
import * as Continuation from "#src/wire/neutral/continuation.ts"
import { nameOf } from "#src/wire/neutral/settings.ts"
import { type Restored, restoredOf } from "#src/wire/neutral/ToolNames.ts"
import * as Formats from "#src/wire/formats.ts"
import * as PromptCache from "#src/wire/promptCache.ts"
import type { ClientCodec, RequestHead, TargetTraits, UpstreamCodec } from "#src/wire/WireFormat.ts"
import { writeRequest } from "#src/wire/writeRequest.ts"

const nothing: ReadonlyArray<string> = []
const noSignatures: ReadonlyMap<string, Signature> = new Map()
const noThoughts: ReadonlyMap<string, string> = new Map()

/** What a combo says about its requests' bodies. */
export interface EncodingRoute {
  readonly combo: ComboWords.Words | null
  readonly config: { readonly reasoningTokenBufferEnabled: boolean } | null
}

/** Settings that shape bodies. */
export type EncodingServices = Recalled.Memory & Pick<ConversationServices, "promptCache" | "previousResponseId" | "systemPrompt" | "thinkingRule">

/** One conversation in the words of each family that is tried. */
export class ConversationEncoding implements Encoding {
  private readonly services: EncodingServices
  private readonly codec: ClientCodec
  private readonly head: RequestHead
  private readonly prompt: Prompt
  private readonly route: EncodingRoute
  /** The gateway's own words around the instructions; null = none. */
  private readonly systemPrompt: ComboWords.SystemPrompt | null
  /** How much models think, as the operator decides; null = as clients ask. */
  private readonly thinkingRule: Thinking.ThinkingRule | null
  private altered: Conversation | null
  private conversation: Conversation | PublicError | null = null
  private omitted: ReadonlyArray<string> = nothing
  /** What the newest translated body says in the place of the client's tools. */
  tools: Restored | null = null
  private readonly effortHeader: string | undefined
  /** Undefined until a model that reasons is asked. */
  private effort: AutoEffort | null | undefined
  /** The target that was asked first; null while none was, and where no other one changes the prompt. */
  private first: Target | null = null
  /** A large body by its target, made by a thread of its own. */
  private prepared: Map<Target, EncodedBody | PublicError> | null = null

  /**
   * `altered`: said instead of what the client wrote, in every format. `effortHeader`: X-Gateway-Effort as the client sent it; `effort`:
   * what was chosen by it for the whole of which this is a part.
   */
  constructor(
    services: EncodingServices, codec: ClientCodec, head: RequestHead, prompt: Prompt, route: EncodingRoute,
    altered: Conversation | null = null, effortHeader?: string, effort?: AutoEffort | null
  ) {
    this.effortHeader = effortHeader
    this.effort = effort
    this.altered = altered
    this.conversation = altered
    this.route = route
    this.services = services
    this.systemPrompt = ComboWords.withTerse(services.systemPrompt(), prompt.shortening === null ? null : prompt.shortening.terse)
    this.thinkingRule = services.thinkingRule()
    this.codec = codec
    this.head = head
    this.prompt = prompt
  }

  /** The prompt of a further target may be another one. */
  private turnTo(target: Target): void {
    const { altered, first, prompt: { shortening } } = this
    if (shortening?.onFallback === undefined || altered !== null) return
    if (first === null) this.first = target
    else if ((first.provider !== target.provider || first.model !== target.model) && shortening.onFallback()) {
      this.conversation = null
      this.prepared = null
    }
  }

  get prepares(): boolean {
    return this.prompt.shortening !== null
  }

  /** From here on this is said instead. */
  alter(conversation: Conversation): void {
    this.altered = conversation
    this.conversation = conversation
    this.prepared = null
  }

  /** Forgets what was made of the request; only what is said again makes it anew. */
  release(): void {
    this.conversation = null
    this.altered = null
    this.prepared = null
  }

  /** What was chosen by X-Gateway-Effort; undefined when nothing was. */
  get chosenEffort(): AutoEffort | null | undefined {
    return this.effort
  }

  /**
   * Makes the body of a large request for a target, in a thread of its own; null when `bodyFor` and `continuationFor` make it
   * themselves. `continues`: the text to continue.
   */
  prepare(workers: BodyWorkers, target: Target, continues: string | null): Effect.Effect<void> | null {
    const { codec, effort, effortHeader, head, prompt, prompt: { body, large, shortening, tenant }, route: { combo, config }, services, systemPrompt, thinkingRule } = this
    this.turnTo(target)
    if (this.altered !== null) return null
    if (large === null) return shortening === null ? null : shortening.prepare(workers, prompt)
    const ask = (signatures: ReadonlyMap<string, Signature>, thoughts: ReadonlyMap<string, string>, done: (said: EncodedBody | PublicError) => void): void => {
      workers.ask(speaking, {
        id: large.id, bytes: body, grown: large.grown, format: codec.name, head, effortHeader, effort, continues,
        // Only what shapes a body, and no credential.
        target: { ...target, connection: null, headers: nothing, proxy: null, tokenFrom: null },
        combo: combo === null ? null : { system_message: combo.system_message, tool_filter_regex: combo.tool_filter_regex },
        reasoningTokenBufferEnabled: config?.reasoningTokenBufferEnabled === true, systemPrompt, thinkingRule,
        promptCache: services.promptCache(), previousResponseId: services.previousResponseId(), signatures, thoughts, compression: shortening?.plan ?? null, clears: shortening !== null && shortening.clears
      }, done)
    }
    return Effect.callback<void>((resume) => {
      const keep = (said: EncodedBody | PublicError): void => {
        this.prepared ??= new Map()
        this.prepared.set(target, said)
        if (!(said instanceof PublicError) && said.savings !== null) shortening?.saved(said.savings)
        resume(Effect.void)
      }
      ask(noSignatures, noThoughts, (said) => {
        // The thread read which calls came back without what they came with; that is remembered here.
        const signatures = said instanceof PublicError ? noSignatures : Recalled.known(services.signatures, tenant, said.unsigned)
        const thoughts = said instanceof PublicError ? noThoughts : Recalled.known(services.keptReasoning, tenant, said.thoughtless)
        if (signatures.size === 0 && thoughts.size === 0) keep(said)
        else ask(signatures, thoughts, keep)
      })
    })
  }

  /** What `prepare` made for this target, once. */
  private takePrepared(target: Target): Uint8Array | PublicError | null {
    const said = this.prepared?.get(target)
    if (said === undefined) return null
    this.prepared?.delete(target)
    if (said instanceof PublicError) return said
    this.omitted = said.omitted
    this.effort = said.effort
    this.tools = said.tools
    return said.body ?? this.prompt.body
  }

  /** With what the target's provider needs beyond its format. */
  bodyFor(target: Target): Uint8Array | PublicError {
    this.turnTo(target)
    return this.takePrepared(target) ?? ruled(target, this.codec.name, this.ownBodyFor(target))
  }

  private ownBodyFor(target: Target): Uint8Array | PublicError {
    this.prompt.shortening?.now(this.prompt)
    this.omitted = nothing
    const effort = this.effortFor(target)
    if (effort === null) return this.plainBodyFor(target)
    const body = this.thoughtfulBodyFor({ ...target, thinking: effort }, effort)
    if (body !== null) return body
    // What cannot be said with an effort is said without one.
    this.effort = null
    this.omitted = nothing
    return this.plainBodyFor(target)
  }

  /** The effort that X-Gateway-Effort gives a target: null unless its model reasons and neither its id, nor the operator, nor the client said how much. */
  effortFor(target: Target): AutoEffort | null {
    return target.reasoning === true && target.thinking === null && this.thinkingRule === null ? this.autoEffort() : null
  }

  /** The effort that the shape of this request asks for; null when the client does not leave it to us. */
  autoEffort(): AutoEffort | null {
    if (this.effortHeader === undefined) return null
    if (this.effort !== undefined) return this.effort
    const conversation = this.decoded()
    return this.effort = conversation instanceof PublicError
      ? null
      : autoEffort(this.effortHeader, conversation.settings.reasoning !== null, () => shapeOf(conversation))
  }

  /** With the effort in the family's own words: by bytes where it is one member, else written anew. Null where it cannot be said. */
  private thoughtfulBodyFor(target: Target, effort: AutoEffort): Uint8Array | null {
    const family = Formats.family(target.wireFormat)
    const traits = this.traitsOf(target)
    if (this.altered === null && !this.rewrites && !this.widens(target) && !this.unmarks && Formats.isSame(this.codec.name, family.name)) {
      const edits = effortEdits(family.name, effort)
      const kept = this.keptEdits(target)
      if (edits !== null && !this.clashes(kept)) return splice(this.prompt, [...family.passThroughEdits(this.prompt.parsed, traits), ...kept, ...this.ownEdits(), ...edits])
    }
    const conversation = this.decoded()
    if (conversation instanceof PublicError) return null
    const body = this.encode(unshown(conversation, family.name), target, family, traits)
    return body instanceof PublicError || this.omitted.includes(nameOf(conversation, "reasoning")) ? null : body
  }

  private plainBodyFor(target: Target): Uint8Array | PublicError {
    const family = Formats.family(target.wireFormat)
    const traits = this.traitsOf(target)
    if (this.altered === null && Formats.isSame(this.codec.name, family.name)) {
      const kept = this.keptEdits(target)
      if (target.thinking !== null || this.rewrites || this.unmarks || this.widens(target) || this.clashes(kept)) return this.varied(target, family, traits)
      const thought = this.thoughtChanges(this.prompt.parsed, target, family, traits)
      const passed = family.passThroughEdits(this.prompt.parsed, traits)
      const edits = kept.length === 0 ? passed : [...passed, ...kept]
      if (thought !== null) return Thinking.inBytes(this.prompt, [...edits, ...this.ownEdits()], thought)
      if (this.systemPrompt !== null) return splice(this.prompt, [...edits, ...this.ownEdits()])
      return edits.length === 0 ? this.prompt.body : splice(this.prompt, edits)
    }
    const conversation = this.decoded()
    return conversation instanceof PublicError ? conversation : this.encode(conversation, target, family, traits)
  }

  /** Asks to continue a broken-off answer: its text, and a request for the rest. */
  continuationFor(target: Target, text: string): Uint8Array | PublicError {
    const prepared = this.takePrepared(target)
    if (prepared !== null) return prepared
    const conversation = this.decoded()
    return conversation instanceof PublicError
      ? conversation
      : ruled(target, this.codec.name, this.encode(Continuation.of(conversation, text), target, Formats.family(target.wireFormat), this.traitsOf(target)))
  }

  /**
   * What the operator's rule for thinking changes in a body in the client's format; null = nothing. The family's encoder says it, as it
   * knows what each model takes; a body that it cannot read keeps what it says.
   */
  private thoughtChanges(body: Readonly<Record<string, unknown>>, target: Target, family: UpstreamCodec, traits: TargetTraits): Thinking.Changes | null {
    const { thinkingRule } = this
    if (thinkingRule === null || target.thinking !== null) return null
    return Thinking.changesOf(thinkingRule, family.name, body, target, () => {
      const conversation = this.decoded()
      const written = conversation instanceof PublicError ? conversation : this.encode(conversation, target, family, traits)
      this.omitted = nothing
      this.tools = null
      return written instanceof PublicError ? null : recordOf(written)
    })
  }

  /** The gateway's own words, in a body in the client's format. */
  private ownEdits(): ReturnType<typeof ComboWords.editsOf> {
    const { codec, prompt: { body, parsed }, systemPrompt } = this
    return ComboWords.editsOf(systemPrompt, codec.name, body, parsed)
  }

  /** What past calls came with, in a body in the client's format. */
  private keptEdits(target: Target): ReturnType<typeof Recalled.editsOf> {
    const { body, parsed, tenant } = this.prompt
    return Recalled.editsOf(this.services, tenant, target, body, parsed)
  }

  /** Both change the list of messages: one edit says a member. */
  private clashes(kept: ReturnType<typeof Recalled.editsOf>): boolean {
    return kept.length > 0 && this.systemPrompt !== null
  }

  /** The combo changes what every target is sent. */
  private get rewrites(): boolean {
    return ComboWords.isAny(this.route.combo)
  }

  /** The target thinks inside the client's cap, and the combo gives it room beside it. */
  private widens(target: Target): boolean {
    return target.reasoning === true && this.route.config?.reasoningTokenBufferEnabled === true
  }

  /** The client marked what a vendor should cache, and that is not for it to say. */
  private get unmarks(): boolean {
    return this.services.promptCache().preserve === "never" && this.prompt.body.includes('"cache_control"')
  }

  /** The request in the neutral form, with what the combo and the gateway's own words change in it. */
  decoded(): Conversation | PublicError {
    if (this.conversation !== null) return this.conversation
    this.prompt.shortening?.now(this.prompt)
    const tree = this.prompt.tree()
    return this.conversation = tree instanceof PublicError ? tree : this.rewritten(conversationIn(this.codec, tree, this.prompt.body))
  }

  private rewritten(conversation: Conversation | PublicError): Conversation | PublicError {
    return conversation instanceof PublicError ? conversation : ComboWords.ofConversation(this.route.combo, this.systemPrompt, conversation)
  }

  private encode(conversation: Conversation, target: Target, family: UpstreamCodec, traits: TargetTraits): Uint8Array | PublicError {
    const asked = preset(target, this.codec.name, conversation)
    const roomy = this.widens(target) ? ReasoningBuffer.ofConversation(asked, target.maxOutputTokens) : asked
    const kept = PromptCache.cachesByMarks(family.name, traits.model)
      ? PromptCache.arranged(roomy, this.services.promptCache(), !Formats.isSame(this.codec.name, family.name))
      : roomy
    const recalled = Recalled.ofConversation(this.services, this.prompt.tenant, target, this.losesSignatures(target), kept)
    const written = writeRequest(Thinking.ofConversation(this.thinkingRule, recalled, target, family.name), this.prompt, family, traits)
    if (written instanceof PublicError) return written
    this.omitted = written.omitted
    this.tools = restoredOf(kept)
    return written.body
  }

  /** A body in its own format whose thinking the model id decides, or that a combo changes: rare, so it is written anew. */
  private varied(target: Target, family: UpstreamCodec, traits: TargetTraits): Uint8Array {
    const sent = sentOf(this.prompt)
    const own = this.unmarks ? PromptCache.bodyWithoutMarks(sent) : sent
    const thought = target.thinking === null ? own : Thinking.ofBody(own, family.name, target.thinking)
    const recalled = Recalled.ofBody(this.services, this.prompt.tenant, target, thought)
    const said = ComboWords.ofBody(this.route.combo, this.systemPrompt, this.codec.name, recalled)
    const body = this.widens(target) ? ReasoningBuffer.ofBody(this.codec.name, said, target.maxOutputTokens) : said
    const changes = this.thoughtChanges(body, target, family, traits)
    const edits = family.passThroughEdits({ ...body, model: this.prompt.parsed["model"] }, traits)
    return jsonOf(changes === null ? body : { ...body, ...changes }, edits)
  }

  omittedFor(_target: Target): ReadonlyArray<string> {
    return this.omitted
  }

  /** `part`: what an ensemble reads of a large answer; null without one. */
  dialectFor(target: Target, services: AnswerServices, part: EnsemblePart | null = null): Dialect {
    const { codec, prompt, services: memory, tools } = this
    const heard = Recalled.heardFor(memory, prompt.tenant, target)
    return Formats.dialectOf(codec, Recalled.familyOf(target, heard), new ExpectedAnswer(
      services, codec, target.wireFormat, part, target.publicModel, tools, repeatedOf(codec.name, prompt),
      this.losesSignatures(target) ? Recalled.remembererOf(memory, prompt.tenant) : undefined, heard
    ))
  }

  /** The family signs tool calls, which the formats of other clients have no field for. */
  private losesSignatures(target: Target): boolean {
    return target.wireFormat === "generateContent" && !Formats.isSame(this.codec.name, target.wireFormat)
  }

  private traitsOf(target: Target): TargetTraits {
    return {
      model: target.model,
      stream: this.head.stream,
      maxOutputTokens: target.maxOutputTokens,
      reasoning: target.reasoning,
      streamOptions: target.streamOptions,
      previousResponseId: this.services.previousResponseId(),
      developerRole: target.compat?.developerRole ?? null,
      reasoningControl: target.compat?.reasoningControl ?? null,
      clears: this.betaFor(target) !== null
    }
  }

  betaFor(target: Target): string | null {
    const { shortening } = this.prompt
    return shortening !== null && shortening.clears ? ComboWords.clearingBeta(target) : null
  }
}
