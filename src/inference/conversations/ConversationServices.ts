/** What serving a conversation needs beside the lane. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Handoffs } from "#src/inference/conversations/ensembles/Handoffs.ts"
import { Shadows } from "#src/inference/conversations/ensembles/Shadows.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import { LaneOptions } from "#src/inference/lane/services/LaneOptions.ts"
import * as Interception from "#src/inference/conversations/toolLoop/interception.ts"
import { CompressionSavings } from "#src/inference/ports/CompressionSavings.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import { PreviousResponses } from "#src/inference/ports/PreviousResponses.ts"
import { ServerTools } from "#src/inference/ports/ServerTools.ts"
import { SessionPlaces } from "#src/inference/ports/SessionPlaces.ts"
import { KeptReasoning } from "#src/inference/ports/pastCalls/KeptReasoning.ts"
import { ThoughtSignatures } from "#src/inference/ports/pastCalls/ThoughtSignatures.ts"
import type { PromptCacheRules } from "#src/wire/promptCache.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"
import * as Effective from "#src/compression/effective.ts"
import * as SystemPrompt from "./words/systemPrompt.ts"
import * as Thinking from "./words/thinking.ts"

export interface ConversationServices extends LaneServices {
  readonly shadows: Shadows
  readonly handoffs: Handoffs
  readonly signatures: ThoughtSignatures["Service"]
  readonly keptReasoning: KeptReasoning["Service"]
  /** What `previous_response_id` does on a target that cannot resolve it (settings.responsesPreviousResponseIdMode). */
  readonly previousResponseId: () => TargetTraits["previousResponseId"]
  /** Puts what went before into a request that names a stored response. */
  readonly expand: PreviousResponses["Service"]["expand"]
  /** Makes a question for a summary out of a request to compact a conversation. */
  readonly compact: PreviousResponses["Service"]["compact"]
  /** Tools that the gateway runs for the model, where a request asks for it, and in how many turns. */
  readonly tools: ServerTools["Service"]
  readonly toolLoopSteps: number
  /** Which tools of vendors the gateway runs itself; null = none (interception rules of connections). */
  readonly interceptions: () => Interception.Rules | null
  /** Asks the gateway's own endpoints. */
  readonly askOwn: OwnCalls["Service"]["ask"]
  /** What is marked for the caches of vendors (settings.promptCacheStrategy and its neighbours). */
  readonly promptCache: () => PromptCacheRules
  /** What is said around the instructions of every conversation; null = nothing (settings systemPrompt and customSystemPrompt). */
  readonly systemPrompt: () => SystemPrompt.SystemPrompt | null
  /** How much models think, whatever clients ask; null = as they ask (setting thinkingBudget). */
  readonly thinkingRule: () => Thinking.ThinkingRule | null
  /** How prompts are made shorter; null = not at all (setting compression). */
  readonly compression: () => Effective.Rules | null
  readonly savings: CompressionSavings["Service"]
}

export class Conversing extends Context.Service<Conversing, ConversationServices>()("gateway/conversations/Conversing") {}

const promptCacheRules = (settings: Snapshot["settings"]): PromptCacheRules => {
  const [strategy, preserve] = [settings.get("promptCacheStrategy"), settings.get("alwaysPreserveClientCache")]
  return {
    strategy: settings.get("promptCacheEnabled") === false ? "manual" : strategy === "system-only" || strategy === "manual" ? strategy : "auto",
    preserve: preserve === "always" || preserve === "never" ? preserve : "auto"
  }
}

export const layer = Layer.effect(Conversing, Effect.gen(function*() {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const inference = yield* Inference
  const places = yield* SessionPlaces
  const handoffs = new Handoffs(() => flags.isOn("UNIVERSAL_CONTEXT_HANDOFF_ENABLED"), places)
  yield* places.hear(handoffs.onPlace)
  let promptCache: PromptCacheRules | null = null
  let systemPrompt: SystemPrompt.SystemPrompt | null | undefined
  let thinkingRule: Thinking.ThinkingRule | null | undefined
  let compression: Effective.Rules | null | undefined
  let interceptions: Interception.Rules | null | undefined
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange(() => {
      promptCache = null
      systemPrompt = undefined
      thinkingRule = undefined
      compression = undefined
      interceptions = undefined
    })),
    (quiet) => Effect.sync(quiet)
  )
  return {
    ...inference,
    shadows: new Shadows(Math.random),
    handoffs,
    signatures: yield* ThoughtSignatures,
    keptReasoning: yield* KeptReasoning,
    tools: yield* ServerTools,
    toolLoopSteps: (yield* LaneOptions).toolLoopSteps,
    interceptions: () => interceptions === undefined ? interceptions = Interception.rulesOf(configuration.current().interceptions) : interceptions,
    askOwn: (yield* OwnCalls).ask,
    ...yield* PreviousResponses,
    savings: yield* CompressionSavings,
    previousResponseId: () => {
      const mode = configuration.current().settings.get("responsesPreviousResponseIdMode")
      return mode === "keep" || mode === "strip" ? mode : "auto"
    },
    promptCache: () => promptCache ??= promptCacheRules(configuration.current().settings),
    systemPrompt: () => systemPrompt === undefined ? systemPrompt = SystemPrompt.of(configuration.current().settings) : systemPrompt,
    thinkingRule: () => thinkingRule === undefined ? thinkingRule = Thinking.of(configuration.current().settings) : thinkingRule,
    compression: () => compression === undefined ? compression = Effective.rulesOf(configuration.current().settings) : compression
  }
}))
