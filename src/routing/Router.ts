/**
 * From a request to its route: the targets in the order of their strategy, who was left out and until when, and how the list is
 * walked. One per configuration snapshot; what strategies remember lives longer (`RouterMemory`). Everything is synchronous.
 */
import type { EvalScores } from "#actors/ports/EvalScores.ts"
import type { Quotas } from "#actors/ports/Quotas.ts"
import type { Resilience } from "#actors/ports/Resilience.ts"
import type { Target } from "#actors/ports/Target.ts"
import { once, type WalkPolicy } from "#actors/ports/WalkPolicy.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Combo, ComboConfig } from "#schemas/records/Combo.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { automaticCombo } from "#src/routing/auto/combo.ts"
import { type AutoHeaders, withHeaders } from "#src/routing/auto/headers.ts"
import { channelOf } from "#src/routing/auto/channel.ts"
import { emptiedByBudget } from "#src/routing/auto/budget.ts"
import type { Candidate, Moment, Order, Skipped } from "#src/routing/candidate.ts"
import { Accounts } from "#src/routing/combos/accounts.ts"
import { arrange, type Placement } from "#src/routing/combos/arrange.ts"
import { type CompleteConfig, makeConfigs } from "#src/routing/combos/config.ts"
import { type Expansion, expand, type Refused as RefusedStep, refusedOf } from "#src/routing/combos/expand.ts"
import { byName } from "#src/routing/combos/nesting.ts"
import { makeComboStep } from "#src/routing/combos/resolve.ts"
import { factsFrom, gatedBy, targetsFrom } from "#src/routing/combos/targets.ts"
import { makePolicies } from "#src/routing/combos/walkPolicy.ts"
import * as Evals from "#src/routing/evals.ts"
import { Generations } from "#src/routing/generations.ts"
import { Memories, SessionPins } from "#src/routing/memories.ts"
import { makePlanner, type Planner, type PlannerOptions, resolverView } from "#src/routing/plan.ts"
import { makeResolver } from "#src/routing/resolveModel.ts"
import * as Identity from "#src/routing/identity.ts"
import { type About, RequestMoment } from "#src/routing/moment.ts"
import * as Selection from "#src/routing/selection.ts"
import { memoryKey, strategies } from "#src/routing/strategies/index.ts"
import * as Refused from "#src/routing/unavailable.ts"
import * as KeyPolicy from "#src/stages/keyPolicy.ts"

/** What is asked; `about` is called only when a combo's strategy wants to know it. */
export interface Question {
  readonly model: string
  readonly key: ApiKey | null
  readonly face: FormatName
  readonly session: string | null
  readonly headers: AutoHeaders
  readonly about: () => About
  /** ms since the epoch. */
  readonly now: number
  /** Nothing is to be remembered of this question. */
  readonly dry?: boolean
}

/** Where a request goes. */
export interface Route {
  /** A combo's strategy, or `single`. */
  readonly strategy: string
  /** The outermost combo; null for a single model. */
  readonly combo: Combo | null
  /** In the order of the strategy; never empty. */
  readonly targets: ReadonlyArray<Target>
  readonly policy: WalkPolicy
  /** Nobody is free: these are blocked by our own guess only, and are asked all the same. */
  readonly lastResort: boolean
  /** Combo metrics are wanted (trackMetrics of the cascade). */
  readonly tracked: boolean
  /** Told when target `index` answered. */
  readonly succeeded: (index: number) => void
  readonly order: Order
  /** The combo's configuration; null for a single model. */
  readonly config: CompleteConfig | null
  /** Steps of the combo that gave no target. */
  readonly refused: () => ReadonlyArray<RefusedStep>
}

/** What strategies and sessions remember over snapshots. */
export class RouterMemory {
  readonly memories = new Memories()
  readonly pins = new SessionPins()
}

export interface RouterOptions extends PlannerOptions {
  readonly resilience: Resilience["Service"]
  readonly quotas: Pick<Quotas["Service"], "known" | "windows" | "preflight">
  readonly memory: RouterMemory
  readonly random: () => number
  /** Absent where no evals are run. */
  readonly evals?: Pick<EvalScores["Service"], "of">
}

export interface Router {
  readonly route: (question: Question) => Route | PublicError
  /** What a model id stands for, whoever is free to serve it; refuses what the key may not ask for. */
  readonly identify: (question: Pick<Question, "model" | "key" | "face">) => string | PublicError
  readonly planner: Planner
}

/** Expansions remembered per snapshot. */
const rememberedExpansions = 1_000

const noNeeds = { tools: false, vision: false, structuredOutput: false }
const noConnections: ReadonlyArray<string> = []
const nothing = (): void => {}
const noneRefused = (): ReadonlyArray<RefusedStep> => []

export const makeRouter = (options: RouterOptions): Router => {
  const { evals, memory, registry, snapshot } = options
  const planner = makePlanner(options)
  const selection = Selection.settingsOf(snapshot.settings)
  const accounts = new Accounts(selection, memory.memories, memory.pins)
  const configOf = makeConfigs(snapshot.settings)
  const policyOf = makePolicies(snapshot.settings, configOf)
  const combos = byName(snapshot.combos)
  const comboStep = makeComboStep(snapshot.combos, snapshot.comboMappings)
  const resolve = makeResolver(resolverView(options), [comboStep])
  const automatic = snapshot.settings.get("autoRoutingEnabled") !== false
  const defaultVariant = snapshot.settings.get("autoRoutingDefaultVariant")
  const expansions = new Generations<Expansion>(rememberedExpansions)
  const factsOf = factsFrom(registry, snapshot.customModels)
  const gated = gatedBy(configOf)
  const prefixes = new Map(snapshot.nodes.map((node) => [node.id, node.prefix]))

  const momentOf = ({ about, key, now, session }: Question): Moment => new RequestMoment(options, now, session, key, about)

  const single = (question: Question): Route | PublicError => {
    const { face, key, model } = question
    const targets = planner.plan(model, key, face)
    if (targets instanceof PublicError) return targets
    const first = targets[0] as Target
    if (key !== null) {
      const refusal = KeyPolicy.admitModel(key, model, first.publicModel)
      if (refusal !== null) return refusal
    }
    const moment = momentOf(question)
    const remembers = memoryKey(selection.strategy, first.provider, moment)
    const before = memory.memories.get(remembers)
    const order = Selection.select(targets, selection, before, moment, {
      pinned: memory.pins.of(first.provider, selection.sessionAffinityTtlMs, moment),
      preferred: key === null ? noConnections : key.policy.preferredConnections
    })
    if (question.dry !== true) memory.memories.set(remembers, before, order.memory)
    if (order.order.length === 0) return lastResort(order, { strategy: "single", combo: null, policy: once, tracked: false, config: null, refused: noneRefused }) ?? Refused.errorOf(model, order.skipped, question.now)
    const succeeded = selection.strategy === "fill-first" && selection.sessionAffinityTtlMs === 0 ? nothing : (index: number): void => {
      const candidate = order.order[index]
      if (candidate === undefined) return
      const held = memory.memories.get(remembers)
      memory.memories.set(remembers, held, strategies[selection.strategy].succeeded(candidate, selection.config, held, moment))
      memory.pins.keep(candidate.target, selection.sessionAffinityTtlMs, moment)
    }
    return {
      strategy: "single", combo: null, policy: once, tracked: false, lastResort: false, succeeded, order, config: null, refused: noneRefused,
      targets: order.skipped.length === 0 && isSame(order.order, targets) ? targets : order.order.map(({ target }) => target)
    }
  }

  const ofCombo = (combo: Combo, question: Question, variants: Pick<Target, "thinking"> | null): Route | PublicError => {
    const { face, headers, key, model, now } = question
    if (key !== null) {
      const refusal = KeyPolicy.admitCombo(key, model, combo.name)
      if (refusal !== null) return refusal
    }
    const expansion = expansionOf(combo, key, face)
    const own = configOf(combo)
    const moment = momentOf(own.disableSessionStickiness ? { ...question, session: null } : question)
    const chaos = key !== null && key.policy.chaosModeEnabled
    const config = (one: Combo): ComboConfig => withHeaders(configOf(one), headers, chaos)
    const rank = (one: Combo, candidates: ReadonlyArray<Candidate>): Order => {
      const remembers = memoryKey(one.strategy, one.id, moment)
      const before = memory.memories.get(remembers)
      const order = strategies[one.strategy].order(candidates, config(one), before, moment)
      if (question.dry !== true) memory.memories.set(remembers, before, order.memory)
      const { evalRouting } = configOf(one)
      return evalRouting.enabled && evals !== undefined && Evals.reorders(one.strategy)
        ? { ...order, order: Evals.reordered(order.order, evals.of(evalRouting, now), evalRouting) }
        : order
    }
    const arranged = arrange(expansion, accounts.keepsList(moment) ? rank : (one, candidates) =>
      accounts.order(one, candidates, { moment, preferred: key === null ? noConnections : key.policy.preferredConnections, dry: question.dry === true }, rank))
    const order: Order = { order: arranged.candidates, skipped: arranged.skipped, memory: null, relaxed: arranged.relaxed }
    const policy = policyOf(combo)
    const tracked = own.trackMetrics
    const refused = () => refusedOf(expansion)
    if (arranged.order.length === 0) {
      if (emptiedByBudget(order)) return Refused.overBudget(combo.name)
      return lastResort(order, { strategy: combo.strategy, combo, policy, tracked, config: own, refused }) ??
        Refused.errorOfCombo(combo, order.skipped, refusedOf(expansion), now)
    }
    const succeeded = (index: number): void => {
      const { candidate: { target }, chain } = arranged.order[index] as Placement
      accounts.answered(target, moment)
      for (const { candidate, combo: one } of chain) {
        const remembers = memoryKey(one.strategy, one.id, moment)
        const held = memory.memories.get(remembers)
        memory.memories.set(remembers, held, strategies[one.strategy].succeeded(candidate, config(one), held, moment))
      }
    }
    return {
      strategy: combo.strategy, combo, policy, tracked, lastResort: false, succeeded, order, config: own, refused,
      targets: variants === null ? targetsIn(order.order) : order.order.map(({ target }) => ({ ...target, ...variants }))
    }
  }

  const expansionOf = (combo: Combo, key: ApiKey | null, face: FormatName): Expansion => {
    const name = `${face}\n${combo.id}\n${key === null ? "" : key.id}`
    const known = expansions.get(name)
    // A combo of automatic routing is made anew when its pool changes, which is with the snapshot.
    if (known !== undefined && known.combo === combo) return known
    const made = expand(combo, {
      combos, factsOf, configOf, gated, targetsOf: targetsFrom(planner, key, face), prefixOf: (provider) => prefixes.get(provider) ?? provider
    })
    expansions.set(name, made)
    return made
  }

  const channels = new Map<string, Combo | null>()
  const automaticOf = (model: string, key: ApiKey | null): Combo | null => {
    if (!automatic || (model !== "auto" && !model.startsWith("auto/"))) return null
    const known = channels.get(model)
    if (known !== undefined) return known
    const channel = channelOf(model, typeof defaultVariant === "string" ? defaultVariant : "lkgp")
    if (channel === null || (channel.chaos && (key === null || !key.policy.chaosModeEnabled))) return null
    const combo = automaticCombo(model, channel, snapshot, registry)
    channels.set(model, combo)
    return combo
  }

  const plain = snapshot.combos.length === 0 && snapshot.comboMappings.length === 0
  let generation: string | null = null
  const identify: Router["identify"] = ({ face, key, model }) => {
    const auto = automaticOf(model, key)
    const resolved = auto !== null || plain ? null : resolve(model)
    const combo = auto ?? (resolved !== null && resolved._tag === "Combo" ? resolved.combo : null)
    if (combo !== null) {
      const variant = resolved !== null && resolved._tag === "Combo" ? resolved.noThinking ? "off" as const : resolved.level : null
      return (key === null ? null : KeyPolicy.admitCombo(key, model, combo.name)) ?? Identity.ofCombo(combo, generation ??= Identity.generationOf(snapshot), variant)
    }
    const targets = planner.plan(model, key, face)
    if (targets instanceof PublicError) return targets
    return (key === null ? null : KeyPolicy.admitModel(key, model, (targets[0] as Target).publicModel)) ?? Identity.ofTargets(targets)
  }
  return {
    planner,
    identify,
    route: (question) => {
      const auto = automaticOf(question.model, question.key)
      if (auto !== null) return ofCombo(auto, question, null)
      if (plain) return single(question)
      const resolved = resolve(question.model)
      if (resolved._tag !== "Combo") return single(question)
      const thinking = resolved.noThinking ? "off" as const : resolved.level
      return ofCombo(resolved.combo, question, thinking === null ? null : { thinking })
    }
  }
}

/** When every target is blocked and some by our own guess only, those are asked: a guess must not refuse a whole model. */
const lastResort = (order: Order, of: Pick<Route, "strategy" | "combo" | "policy" | "tracked" | "config" | "refused">): Route | null => {
  const soft = order.skipped.filter(({ unavailable }) => "soft" in unavailable && unavailable.soft === true).map(({ candidate }) => candidate)
  return soft.length === 0
    ? null
    : { ...of, lastResort: true, succeeded: nothing, order: { ...order, order: soft, skipped: hard(order.skipped) }, targets: soft.map(({ target }) => target) }
}

const hard = (skipped: ReadonlyArray<Skipped>): ReadonlyArray<Skipped> =>
  skipped.filter(({ unavailable }) => !("soft" in unavailable && unavailable.soft === true))

const isSame = (order: ReadonlyArray<Candidate>, targets: ReadonlyArray<Target>): boolean => {
  if (order.length !== targets.length) return false
  for (let i = 0; i < order.length; i++) if ((order[i] as Candidate).target !== targets[i]) return false
  return true
}

const targetLists = new WeakMap<ReadonlyArray<Candidate>, ReadonlyArray<Target>>()

/** Made once for an order that requests share. */
const targetsIn = (order: ReadonlyArray<Candidate>): ReadonlyArray<Target> => {
  let targets = targetLists.get(order)
  if (targets === undefined) targetLists.set(order, targets = order.map(({ target }) => target))
  return targets
}

/** What a request says of itself when nobody looked. */
export const unknownRequest = { promptTokens: 0, promptPrefix: "", needs: noNeeds }

