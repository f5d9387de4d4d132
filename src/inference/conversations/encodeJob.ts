/** A job about a large conversation: its body in the words of a target's family, made in a thread. */
import type { Target } from "#actors/request/ports/Target.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { FormatName, Signature } from "#schemas/wire/conversation.ts"
import type * as Compress from "#src/compression/compress.ts"
import type { Plan } from "#src/compression/plan.ts"
import * as Jobs from "#src/inference/lane/bodies/jobs.ts"
import { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import { ConversationEncoding } from "./ConversationEncoding.ts"
import { PromptCompression } from "./words/PromptCompression.ts"
import type { SystemPrompt } from "./words/systemPrompt.ts"
import type { ThinkingRule } from "./words/thinking.ts"
import type { AutoEffort } from "#src/routing/auto/effort.ts"
import * as Formats from "#src/wire/formats.ts"
import type { Restored } from "#src/wire/neutral/ToolNames.ts"
import type { PromptCacheRules } from "#src/wire/promptCache.ts"
import type { RequestHead, TargetTraits } from "#src/wire/WireFormat.ts"

/** A request in the words of a target's family. */
export interface EncodeJob extends Jobs.JobSubject {
  /** Members that the path said. */
  readonly grown: Readonly<Record<string, unknown>>
  readonly format: FormatName
  readonly head: RequestHead
  readonly target: Target
  readonly combo: Pick<Combo, "system_message" | "tool_filter_regex"> | null
  readonly reasoningTokenBufferEnabled: boolean
  readonly systemPrompt: SystemPrompt | null
  readonly thinkingRule: ThinkingRule | null
  /** How the prompt is made shorter; null = not at all. */
  readonly compression: Plan | null
  /** The vendor is asked to clear older results of tools. */
  readonly clears: boolean
  readonly effortHeader: string | undefined
  /** As it was chosen for an earlier target; undefined = not yet. */
  readonly effort: AutoEffort | null | undefined
  readonly promptCache: PromptCacheRules
  readonly previousResponseId: TargetTraits["previousResponseId"]
  /** Text of the broken answer to continue. */
  readonly continues: string | null
  /** Remembered signatures, by tool call id. */
  readonly signatures: ReadonlyMap<string, Signature>
  /** Remembered thoughts, by tool call id. */
  readonly thoughts: ReadonlyMap<string, string>
}

export interface EncodedBody {
  /** Null = the bytes that came. */
  readonly body: Uint8Array | null
  readonly omitted: ReadonlyArray<string>
  /** What a shorter prompt saved; null = it is sent as it came. */
  readonly savings: Compress.Savings | null
  readonly effort: AutoEffort | null | undefined
  /** What the body says in the place of the client's tools. */
  readonly tools: Restored | null
  /** Tool calls that might be signed if their signatures were given. */
  readonly unsigned: ReadonlyArray<string>
  /** Tool calls that might be said with their thoughts. */
  readonly thoughtless: ReadonlyArray<string>
}

export const run: Jobs.RunJob<EncodeJob, EncodedBody> = (job, parse) => {
  const body = parse(job)
  if (body instanceof PublicError) return body
  const bytes = Jobs.bufferOf(job)
  const prompt = new Prompt(bytes, { ...body, ...job.grown })
  let savings: Compress.Savings | null = null
  if (job.compression !== null || job.clears) {
    prompt.shortening = new PromptCompression({ plan: job.compression, header: "", terse: null, clears: job.clears }, job.format, (saved) => {
      savings = saved
    })
  }
  const route = { combo: job.combo, config: { reasoningTokenBufferEnabled: job.reasoningTokenBufferEnabled } }
  const unsigned: Array<string> = []
  const thoughtless: Array<string> = []
  const from = <A>(remembered: ReadonlyMap<string, A>, missed: Array<string>) => (_scope: string, callId: string): A | null => {
    const known = remembered.get(callId)
    if (known === undefined) missed.push(callId)
    return known ?? null
  }
  const services = {
    promptCache: () => job.promptCache, previousResponseId: () => job.previousResponseId, systemPrompt: () => job.systemPrompt,
    thinkingRule: () => job.thinkingRule,
    signatures: { recall: from(job.signatures, unsigned), remember: () => undefined },
    keptReasoning: { recall: from(job.thoughts, thoughtless), remember: () => undefined }
  }
  const encoding = new ConversationEncoding(services, Formats.client(job.format), job.head, prompt, route, null, job.effortHeader, job.effort)
  const encoded = job.continues === null ? encoding.bodyFor(job.target) : encoding.continuationFor(job.target, job.continues)
  return encoded instanceof PublicError
    ? encoded
    : { body: encoded === bytes ? null : encoded, omitted: encoding.omittedFor(job.target), savings, effort: encoding.chosenEffort, tools: encoding.tools, unsigned, thoughtless }
}
