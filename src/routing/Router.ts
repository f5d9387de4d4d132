/**
 * From a request to its route: the targets in the order of their strategy, which were left out and until when, and how the list
 * is walked. One per configuration snapshot; what strategies remember lives longer (`RouterMemory`). Everything is synchronous.
 */
import type { EvalScores } from "#src/routing/ports/EvalScores.ts"
import type { Quotas } from "#src/routing/ports/Quotas.ts"
import type { Resilience } from "#actors/request/ports/Resilience.ts"
import type { TargetGuard, Target } from "#actors/request/ports/Target.ts"
import { once, type WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Combo, ComboConfig } from "#schemas/records/Combo.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import { automaticCombos, isAutomatic } from "#src/routing/auto/combo.ts"
import { type AutoHeaders, withHeaders } from "#src/routing/auto/headers.ts"
import { emptiedByBudget } from "#src/routing/auto/budget.ts"
import * as Meanings from "#src/routing/models/meanings.ts"
import type { Candidate, Capability, Moment, Order, Skipped } from "#src/routing/models/candidate.ts"
import { Accounts } from "#src/routing/combos/Accounts.ts"
import { arrange, type ComboPlacement, type OrderOf } from "#src/routing/combos/arrange.ts"
import { type CompleteConfig, makeConfigs } from "#src/routing/combos/config.ts"
import { candidatesOf, type Expansion, expand, forbiddenOf, type RefusedStep, refusedOf } from "#src/routing/combos/expand.ts"
import { byName } from "#src/routing/combos/nesting.ts"
import { factsFrom, gatedBy, leavingBy, targetsFrom } from "#src/routing/combos/targets.ts"
import { makePolicies } from "#src/routing/combos/walkPolicy.ts"
import * as Capabilities from "#src/routing/capabilities/capabilities.ts"
import * as ContextWindow from "#src/routing/contextWindow.ts"
import * as Evals from "#src/routing/evals.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import { CachePins, Memories, SessionPins } from "#src/routing/Memories.ts"
import { makePlanner, type Planner, type PlannerOptions } from "#src/routing/plan.ts"
import * as KeyRights from "#src/routing/models/keyRights.ts"
import * as Identity from "#src/routing/models/identity.ts"
import * as SearchPool from "#src/routing/searchPool.ts"
import * as Selection from "#src/routing/selection.ts"
import { memoryKey, strategies } from "#src/routing/strategies/index.ts"
import * as Unavailable from "#src/routing/unavailable.ts"

/** What is asked. */
export interface Question {
  readonly model: string
  readonly key: ApiKey | null
  readonly face: CallFormat
  readonly session: string | null
  readonly headers: AutoHeaders
  /** Asked only when a combo's strategy wants to know of it. */
  readonly prompt: Capabilities.AskedPrompt
  /** ms since the epoch. */
  readonly now: number
  /** Absent = no context window is checked. */
  readonly length?: ContextWindow.RequestLength | null
  /** Nothing is to be remembered of this question. */
  readonly dry?: boolean
  /** A combo names the model, and the key may ask for that combo: the model need not be on the key's lists, but must not be blocked. */
  readonly granted?: boolean
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
  /** No target is free: these are blocked by the gateway's own guess only, and are still tried. */
  readonly lastResort: boolean
  /** Combo metrics are wanted (trackMetrics of the cascade). */
  readonly tracked: boolean
  /** The id that the client's was taken to be (autoResolve of its key); absent = the client's. */
  readonly meant?: string
  /** Called when target `index` answered. */
  readonly succeeded: (index: number) => void
  readonly order: Order
  /** The combo's configuration; null for a single model. */
  readonly config: CompleteConfig | null
  /** Steps of the combo that gave no target. */
  readonly refused: () => ReadonlyArray<RefusedStep>
  /** What the key may not use, for operators. */
  readonly forbidden: () => ReadonlyArray<Skipped>
}

/** What strategies and sessions remember over snapshots. */
export class RouterMemory {
  readonly memories = new Memories()
  readonly pins = new SessionPins()
  readonly cachePins = new CachePins()
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
  /** What a model id stands for, whichever target is free; refuses what the key may not use. */
  readonly identify: (question: Pick<Question, "model" | "key" | "face">) => string | PublicError
  /** May the key ask for the id, as far as its lists say? */
  readonly admits: (key: ApiKey, id: string) => boolean
  /** Asked before every wire call of a request for `model` that `route` serves. */
  readonly guardOf: (key: ApiKey | null, model: string, route: Pick<Route, "combo" | "meant">) => TargetGuard
  /** Is the target's model known to lack this? */
  readonly lacks: (target: Target, capability: Capability) => boolean
  readonly planner: Planner
}

/** Expansions remembered per snapshot. */
const rememberedExpansions = 1_000

const noConnections: ReadonlyArray<string> = []
const nothing = (): void => {}
const noneRefused = (): ReadonlyArray<RefusedStep> => []
const mayAll: TargetGuard = () => null

export const makeRouter = (options: RouterOptions): Router => {
  const { evals, memory, registry, snapshot } = options
  const planner = makePlanner(options)
  const selection = Selection.settingsOf(snapshot.settings)
  const accounts = new Accounts(selection, memory.memories, memory.pins)
  const configOf = makeConfigs(snapshot.settings)
  const policyOf = makePolicies(snapshot.settings, configOf)
  const { combos: stored, plain, resolve, resolveListed, stripped } = Meanings.make(options, configOf)
  const combos = byName(stored)
  const expansions = new Generations<Expansion>(rememberedExpansions)
  const factsOf = factsFrom(registry, snapshot.customModels)
  const tooLong = ContextWindow.refusals(factsOf)
  const momentOf = Capabilities.moments(options, options.isOn?.("CAPABILITY_FILTER_ENABLED") === true ? Capabilities.checks(registry, snapshot.customModels) : null)
  let capabilitiesOf: ReturnType<typeof Capabilities.factsFrom> | null = null
  const gated = gatedBy(configOf)
  const leaving = leavingBy(snapshot.egress)
  const prefixes = new Map(snapshot.nodes.map((node) => [node.id, node.prefix]))

  const { permitted, rightsOf } = KeyRights.make(options, resolveListed)

  const protects = snapshot.combos.some((combo) => combo.context_cache_protection)
  /** In its combo's order, the target that holds the cache of the conversation's prompt goes first. */
  const cachedFirst = (orderOf: OrderOf, moment: Moment): OrderOf => (one, candidates) => {
    const order = orderOf(one, candidates)
    return keepsCache(one) ? { ...order, order: memory.cachePins.first(one.id, order.order, moment) } : order
  }

  /** Nothing is learned of an answer. */
  const learnsNothing = selection.strategy === "fill-first" && selection.sessionAffinityTtlMs === 0
  /** Routes of whole plans where nothing is learned: the same for each request. */
  const wholeRoutes = new WeakMap<ReadonlyArray<Target>, Route>()

  const single = (question: Question): Route | PublicError => {
    const { face, key, model } = question
    const plan = planner.plan(model, face)
    const found = permitted(plan, question)
    if (found instanceof PublicError) return found
    const { forbidden } = found
    const targets = leaving === null ? found.targets : leaving.targets(found.targets, key)
    const first = targets[0] as Target
    const moment = momentOf(question, question.session, question.length ?? null, null)
    const refusal = tooLong(targets, moment, face) ?? Capabilities.refusalOf(targets, moment)
    if (refusal !== null) return refusal
    const remembers = memoryKey(selection.strategy, first.provider, moment)
    const before = memory.memories.get(remembers)
    const order = Selection.select(targets, selection, before, moment, Selection.wishesOf(
      memory.pins.of(first.provider, selection.sessionAffinityTtlMs, moment), key === null ? noConnections : key.policy.preferredConnections
    ))
    if (question.dry !== true) memory.memories.set(remembers, before, order.memory)
    if (order.order.length === 0) return Unavailable.lastResort(order, { strategy: "single", combo: null, policy: once, tracked: false, config: null, refused: noneRefused, forbidden, succeeded: nothing }) ?? Unavailable.errorOf(model, order.skipped, question.now)
    const isWhole = targets === plan && learnsNothing && order === Selection.wholeOf(targets)
    const known = isWhole ? wholeRoutes.get(targets) : undefined
    if (known !== undefined) return known
    const route: Route = {
      strategy: "single", combo: null, policy: once, tracked: false, lastResort: false, succeeded: learnsNothing ? nothing : remembering(order, remembers, moment),
      order, config: null, refused: noneRefused, forbidden,
      targets: order.skipped.length === 0 && isSame(order.order, targets) ? targets : order.order.map(({ target }) => target)
    }
    if (isWhole) wholeRoutes.set(targets, route)
    return route
  }

  const remembering = (order: Order, remembers: string | null, moment: Moment) => (index: number): void => {
    const candidate = order.order[index]
    if (candidate === undefined) return
    const held = memory.memories.get(remembers)
    memory.memories.set(remembers, held, strategies[selection.strategy].succeeded(candidate, selection.config, held, moment))
    memory.pins.keep(candidate.target, selection.sessionAffinityTtlMs, moment)
  }

  const ofCombo = (combo: Combo, question: Question, variants: Pick<Target, "thinking"> | null): Route | PublicError => {
    const { face, granted = false, headers, key, model, now } = question
    const refusal = Meanings.isMade(combo) ? null : rightsOf(key)?.ofCombo(model, combo.name, granted) ?? null
    if (refusal !== null) return refusal
    const expansion = expansionOf(combo, key, face, granted, model)
    const own = configOf(combo)
    const session = own.disableSessionStickiness ? null : question.session
    const moment = momentOf(question, session, ContextWindow.checkOf(combo, question.length ?? null, own.compressionMode ?? null), combo)
    const chaos = key !== null && key.policy.chaosModeEnabled
    const config = (one: Combo): ComboConfig => withHeaders(configOf(one), headers, chaos)
    const rank = (one: Combo, candidates: ReadonlyArray<Candidate>): Order => {
      const strategy = Meanings.strategyOf(one)
      const remembers = memoryKey(strategy, one.id, moment)
      const before = memory.memories.get(remembers)
      const order = strategies[strategy].order(candidates, config(one), before, moment)
      if (question.dry !== true) memory.memories.set(remembers, before, order.memory)
      const { evalRouting } = configOf(one)
      return evalRouting.enabled && evals !== undefined && Evals.reorders(one.strategy)
        ? { ...order, order: Evals.reordered(order.order, evals.of(evalRouting, now), evalRouting) }
        : order
    }
    const orderOf: OrderOf = accounts.keepsList(moment) ? rank : (one, candidates) =>
      accounts.order(one, candidates, { moment, preferred: key === null ? noConnections : key.policy.preferredConnections, dry: question.dry === true }, rank)
    const arranged = arrange(expansion, protects ? cachedFirst(orderOf, moment) : orderOf)
    const order: Order = { order: arranged.candidates, skipped: arranged.skipped, memory: null, relaxed: arranged.relaxed }
    const policy = policyOf(combo)
    const tracked = own.trackMetrics
    const refused = () => refusedOf(expansion)
    const forbidden = () => forbiddenOf(expansion)
    if (arranged.order.length === 0) {
      if (emptiedByBudget(order)) return Unavailable.overBudget(combo.name)
      const pool = { combo, skipped: order.skipped, refused: refused(), forbidden: forbidden() }
      return Unavailable.tooLong(face, pool) ?? Unavailable.incapable(pool) ?? Unavailable.lastResort(order, { strategy: Meanings.strategyOf(combo), combo, policy, tracked, config: own, refused, forbidden, succeeded: nothing }) ??
        Unavailable.errorOfCombo(pool, now)
    }
    const succeeded = (index: number): void => {
      const { candidate: { target }, chain } = arranged.order[index] as ComboPlacement
      accounts.answered(target, moment)
      for (const { candidate, combo: one } of chain) {
        if (keepsCache(one)) memory.cachePins.keep(one.id, candidate, moment)
        const strategy = Meanings.strategyOf(one)
        const remembers = memoryKey(strategy, one.id, moment)
        const held = memory.memories.get(remembers)
        memory.memories.set(remembers, held, strategies[strategy].succeeded(candidate, config(one), held, moment))
      }
    }
    return {
      strategy: Meanings.strategyOf(combo), combo, policy, tracked, lastResort: false, succeeded, order, config: own, refused, forbidden,
      targets: variants === null ? targetsIn(order.order) : order.order.map(({ target }) => ({ ...target, ...variants }))
    }
  }

  const expansionOf = (combo: Combo, key: ApiKey | null, face: CallFormat, granted: boolean, model: string): Expansion => {
    const rights = rightsOf(key)
    // What a key may use of it depends on the id that was asked for, which may be an alias.
    const of = rights !== null && Meanings.isMade(combo) ? `\n${model}` : ""
    const name = `${face}\n${combo.id}\n${granted}\n${KeyRights.printOf(key)}${leaving === null ? "" : `\n${leaving.nameOf(key)}`}${of}`
    const known = expansions.get(name)
    // A combo of automatic routing is made anew when its pool changes, which is with the snapshot.
    if (known !== undefined && known.combo === combo) return known
    const asked = requestedIn(combo, granted, model)
    const made = expand(combo, {
      combos, factsOf, configOf, gated: leaving === null ? gated : (target, inner) => leaving.target(gated(target, inner), key, [inner, combo]), prefixOf: (provider) => prefixes.get(provider) ?? provider,
      targetsOf: targetsFrom(planner, face, key === null ? noConnections : key.policy.preferredConnections),
      ...(rights === null ? {} : { refusalOf: (target: Target) => rights.ofTarget(target, asked) })
    })
    expansions.set(name, made)
    return made
  }

  /** Why the combo is none for the key: nothing is left of it that the key may use. */
  const emptied = (combo: Combo, key: ApiKey | null, face: CallFormat, model: string): PublicError | null => {
    if (rightsOf(key) === null) return null
    const expansion = expansionOf(combo, key, face, false, model)
    return candidatesOf(expansion).length > 0 ? null : Unavailable.forbiddenCombo({ combo, skipped: [], refused: refusedOf(expansion), forbidden: forbiddenOf(expansion) })
  }

  const automatic = automaticCombos({ snapshot, registry, priceOf: options.priceOf })
  const automaticOf = (model: string, key: ApiKey | null, face: CallFormat): Combo | null => automatic.comboOf(model, face, key !== null && key.policy.chaosModeEnabled)

  let generation: string | null = null
  /** What a remembered answer depends on beside the model: another list of the key may leave other models. */
  const under = (key: ApiKey | null, identity: string): string => {
    const print = KeyRights.printOf(key)
    return print === "" ? identity : `${identity}\n${print}`
  }
  const identified: Router["identify"] = ({ face, key, model: asked }) => {
    const auto = automaticOf(asked, key, face)
    const model = auto !== null || stripped === null ? asked : stripped(asked)
    const resolved = auto !== null || plain ? null : resolve(model)
    const combo = auto ?? (resolved !== null && resolved._tag === "Combo" ? resolved.combo : null)
    if (combo !== null) {
      const variant = resolved !== null && resolved._tag === "Combo" ? resolved.noThinking ? "off" as const : resolved.level : null
      const refusal = (Meanings.isMade(combo) ? null : rightsOf(key)?.ofCombo(model, combo.name, false)) ?? emptied(combo, key, face, model)
      return refusal ?? under(key, Identity.ofCombo(combo, generation ??= Identity.generationOf(snapshot), variant))
    }
    const found = permitted(planner.plan(model, face), { key, model })
    return found instanceof PublicError ? found : Identity.ofTargets(found.targets)
  }
  const admits: Router["admits"] = (key, asked) => {
    const rights = rightsOf(key)
    if (rights === null) return true
    const auto = automaticOf(asked, key, "chat-completions")
    const id = auto !== null || stripped === null ? asked : stripped(asked)
    const resolved = resolve(id)
    if (auto === null && resolved._tag === "Combo" && Meanings.isMade(resolved.combo)) return emptied(resolved.combo, key, "chat-completions", id) === null
    if (auto !== null || resolved._tag === "Combo") return rights.ofCombo(id, auto?.name ?? (resolved as Extract<typeof resolved, { readonly _tag: "Combo" }>).combo.name, false) === null
    return (resolved._tag === "Unresolved" ? rights.ofName(id) : rights.ofModel(id, KeyRights.namedOf(resolved))) === null
  }
  const routed = (question: Question): Route | PublicError => {
    const auto = automaticOf(question.model, question.key, question.face)
    if (auto !== null && question.face === "search" && auto.models.length === 0) return SearchPool.noProvider(question.model.slice(question.model.indexOf(":") + 1))
    if (auto !== null) return ofCombo(auto, question, null)
    if (plain) return single(question)
    const model = stripped === null || question.granted === true ? question.model : stripped(question.model)
    const asked = model === question.model ? question : { ...question, model }
    const resolved = resolve(model)
    if (resolved._tag !== "Combo") return single(asked)
    const thinking = resolved.noThinking ? "off" as const : resolved.level
    return ofCombo(resolved.combo, asked, thinking === null ? null : { thinking })
  }
  /** The best match of an id that leads nowhere, for a key that asks for it; null = none. */
  const instead = <A>(error: PublicError, { key, model }: Pick<Question, "key" | "model">, ask: (model: string) => A | PublicError) =>
    key === null || !key.policy.autoResolve || rightsOf(key)?.blocks(model) === true ? null : Meanings.best(resolve(model), error, (id) => admits(key, id), ask)
  return {
    planner,
    admits,
    identify: (question) => {
      const found = identified(question)
      return found instanceof PublicError ? instead(found, question, (model) => identified({ ...question, model }))?.answer ?? automatic.told(question.model, found) : found
    },
    lacks: (target, capability) => (capabilitiesOf ??= Capabilities.factsFrom(registry, snapshot.customModels))(target)[capability] === false,
    guardOf: (key, model, { combo, meant }) => {
      const rights = rightsOf(key)
      if (rights === null) return mayAll
      const id = meant ?? (stripped === null ? model : stripped(model))
      const asked = combo === null ? id : requestedIn(combo, false, id)
      return (target) => rights.ofTarget(target, asked)
    },
    route: (question) => {
      const found = routed(question)
      if (!(found instanceof PublicError)) return found
      const match = instead(found, question, (model) => routed({ ...question, model }))
      if (match === null) return automatic.told(question.model, found)
      if (match.answer instanceof PublicError) return match.answer
      return { ...match.answer, meant: match.id, strategy: match.answer.combo === null ? "auto-resolve" : match.answer.strategy }
    }
  }
}

/** A stored combo brings its models with it; automatic routing asks models that the key may ask for itself, and so do combos of bare ids. */
const requestedIn = (combo: Combo, granted: boolean, model: string): KeyRights.RequestedAs =>
  granted ? null : isAutomatic(combo) ? "" : Meanings.isMade(combo) ? model : null

const keepsCache = (combo: Combo): boolean => combo.context_cache_protection && Evals.reorders(combo.strategy)

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
