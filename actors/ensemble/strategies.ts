/** Fusion, pipeline and debate: which model gets which prompt, and how the answers become one. */
import * as Effect from "effect/Effect"
import type { PreparedCall, Ensemble, Given } from "#actors/ensemble/Ensemble.ts"
import { gather, type GatherPatience } from "#actors/ensemble/gather.ts"
import { agreement } from "#actors/ensemble/similarity.ts"
import * as Instructions from "#actors/ensemble/instructions.ts"
import type { Inbound } from "#actors/request/Inbound.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Answer, Conversation } from "#schemas/wire/conversation.ts"

/** One model of an ensemble, on the connections that serve it. */
export interface PanelMember {
  /** For people: the step's label, or its model. */
  readonly name: string
  /** The step's system instruction; null without one. */
  readonly prompt: string | null
  /** Why no target can be called; null when one can. */
  readonly missing: PublicError | null
  /** A call that brings a whole answer to this conversation. */
  readonly call: (conversation: Conversation) => PreparedCall
}

export interface EnsemblePlan {
  readonly combo: string
  readonly members: ReadonlyArray<PanelMember>
  readonly conversation: Conversation
  readonly patience: GatherPatience
  /** The final call; `null`: the client's own conversation, unchanged. */
  readonly last: (conversation: Conversation | null) => Inbound
  /** What the error that ends the request says beside its message. */
  readonly terminal: (error: PublicError) => PublicError
  /** A part's answer in the form the client asked for. */
  readonly direct: (given: Given & { readonly answer: Answer }) => Parameters<Ensemble["give"]>[1]
}

interface Answered {
  readonly given: Given & { readonly answer: Answer }
  readonly text: string
}

/** The answer with its words; null when there are none. */
const answeredOf = (given: Given | null): Answered | null => {
  if (given === null || given.answer === null) return null
  const text = Instructions.textOf(given.answer)
  return text === "" ? null : { given: { ...given, answer: given.answer }, text }
}

/** Why members gave nothing, by their place; the newest error of each. */
type Failures = Map<number, PublicError>

/** The panel's answers, by member; `failures` is called with every error. */
const panelOf = (ensemble: Ensemble, plan: EnsemblePlan, words: (member: number) => Conversation, failures: Failures): Effect.Effect<ReadonlyArray<Answered | null>> =>
  gather(plan.members.map((member, i) =>
    member.missing !== null ? Effect.succeed(null) : Effect.map(ensemble.ask(member.call(words(i)), "panel"), (given) => {
      if (given.error !== null) failures.set(i, given.error)
      return answeredOf(given)
    })), plan.patience)

/** Members that an error names, and characters of what each said. */
const namedMembers = 8
const maxReason = 300

/** No member of the panel answered: the error of each member, and the earliest time to retry. */
const noAnswer = ({ combo, members, terminal }: EnsemblePlan, failures: Failures): PublicError => {
  const hints = [...failures.values()].flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
  const why = members.slice(0, namedMembers).map(({ name }, i) => `${name}: ${(failures.get(i)?.message ?? "no answer").slice(0, maxReason)}`)
  const more = members.length > namedMembers ? `; and ${members.length - namedMembers} more` : ""
  return terminal(Errors.make(
    "service_unavailable", `None of the ${members.length} models of combo '${combo}' answered: ${why.join("; ")}${more}`,
    hints.length === 0 ? {} : { retryAfterSeconds: Math.min(...hints) }
  ))
}

const missingOf = ({ members }: EnsemblePlan): Failures =>
  new Map(members.flatMap(({ missing }, i): ReadonlyArray<readonly [number, PublicError]> => missing === null ? [] : [[i, missing]]))

/** The members of a panel answer in parallel, and a judge makes one answer of theirs. */
export const fusion = (plan: EnsemblePlan) => (ensemble: Ensemble): Effect.Effect<void> => {
  // Only a model that may call them can continue.
  if (Instructions.usesTools(plan.conversation)) return ensemble.finish(plan.last(null))
  const question = Instructions.spoken(plan.conversation)
  const failures = missingOf(plan)
  return Effect.flatMap(panelOf(ensemble, plan, () => question, failures), (panel) => {
    const answers = panel.filter((one) => one !== null)
    const [first] = answers
    if (first === undefined) return Effect.sync(() => ensemble.refuse(noAnswer(plan, failures)))
    if (answers.length === 1) return Effect.sync(() => ensemble.give(first.given.target, plan.direct(first.given)))
    return ensemble.finish(plan.last(Instructions.judged(plan.conversation, answers.map(({ text }) => text))))
  })
}

export interface DebateTuning {
  readonly debateRounds: number
  /** 0 to 1. */
  readonly consensusThreshold: number
}

/**
 * The panel answers, then each member sees the others' answers and may revise its own, until they agree or the rounds are over; then
 * one final answer is written out of the last positions. A member that fails in a later round keeps its position.
 */
export const debate = (plan: EnsemblePlan, tuning: DebateTuning) => (ensemble: Ensemble): Effect.Effect<void> => {
  if (Instructions.usesTools(plan.conversation)) return ensemble.finish(plan.last(null))
  const question = Instructions.spoken(plan.conversation)
  const failures = missingOf(plan)
  const round = (number: number, positions: ReadonlyArray<Answered | null>): Effect.Effect<ReadonlyArray<Answered | null>> => {
    const held = positions.flatMap((position) => position === null ? [] : [position.text])
    if (number > tuning.debateRounds || held.length < 2 || agreement(Instructions.compared(held)) >= tuning.consensusThreshold) return Effect.succeed(positions)
    const words = (member: number): Conversation => {
      const others = positions.flatMap((position, i) => i === member || position === null ? [] : [position.text])
      return Instructions.debated(question, positions[member]?.text ?? null, others)
    }
    return Effect.flatMap(panelOf(ensemble, plan, words, failures), (revised) => round(number + 1, revised.map((position, i) => position ?? positions[i] ?? null)))
  }
  const rounds = Effect.flatMap(panelOf(ensemble, plan, () => question, failures), (positions) => round(2, positions))
  return Effect.flatMap(rounds, (positions) => {
    const answers = positions.filter((one) => one !== null)
    const [first] = answers
    if (first === undefined) return Effect.sync(() => ensemble.refuse(noAnswer(plan, failures)))
    if (answers.length === 1) return Effect.sync(() => ensemble.give(first.given.target, plan.direct(first.given)))
    return ensemble.finish(plan.last(Instructions.concluded(plan.conversation, answers.map(({ text }) => text))))
  })
}

/** The step that failed, in the words of the client's error. */
export const stepFailed = ({ combo, members }: Pick<EnsemblePlan, "combo" | "members">, step: number, error: PublicError | null): PublicError =>
  new Errors.PublicError(
    "pipeline_step_failed", 502, "server_error",
    `Step ${step + 1} of ${members.length} (${members[step]?.name ?? ""}) of pipeline '${combo}' failed: ${error === null ? "it answered nothing." : error.message}`,
    error?.retryAfterSeconds ?? null, { step: step + 1 }
  )

/** One step after the other, each with the answer of the one before it; the client gets the last answer. */
export const pipeline = (plan: EnsemblePlan, common: string | null) => (ensemble: Ensemble): Effect.Effect<void> => {
  const { conversation, members } = plan
  const end = members.length - 1
  /** The input of a step: the client's conversation for the first one, the previous answer for the others. */
  const words = (step: number, input: Conversation): Conversation => {
    const own = Instructions.instructed(input, members[step]?.prompt ?? null)
    return step === 0 ? own : Instructions.instructed(own, common)
  }
  const run = (step: number, input: Conversation): Effect.Effect<void> => {
    const member = members[step] as PanelMember
    if (step === end) return ensemble.finish(plan.last(words(step, input)))
    const told = Instructions.unshaped(Instructions.spoken(words(step, input)))
    return Effect.flatMap(ensemble.ask(member.call(told), "step"), (given) => {
      const answered = answeredOf(given)
      if (answered === null) return Effect.sync(() => ensemble.refuse(plan.terminal(stepFailed(plan, step, given.error))))
      return run(step + 1, Instructions.handedOn(conversation, answered.text))
    })
  }
  return Effect.suspend(() => {
    const missing = members.findIndex((member) => member.missing !== null)
    if (missing !== -1) {
      ensemble.refuse(plan.terminal(stepFailed(plan, missing, members[missing]?.missing ?? null)))
      return Effect.void
    }
    // The last step asked for the tool's result: it continues alone.
    if (conversation.turns[conversation.turns.length - 1]?.role === "tool") return ensemble.finish(plan.last(Instructions.instructed(conversation, members[end]?.prompt ?? null)))
    return run(0, conversation)
  })
}

