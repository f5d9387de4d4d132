/** What blocks a call now: marks, breaker, rests, lockout, the queue before it, caps and pacing. */
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import { stricter, type Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Pace from "#actors/resilience/Pace.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import { isTerminal } from "#src/features/resilience/ports/marks.ts"
import type { Effective } from "#src/features/resilience/ports/resilienceSettings.ts"
import { statusText } from "#src/features/resilience/views.ts"
import type { Gates } from "./Gates.ts"
import type { Lines } from "./lines.ts"
import type { ConnectionPlace, ModelPlace, ProviderPlace } from "./places.ts"
import * as Rests from "./rests.ts"
import type { TargetRules } from "./rules.ts"
import type { Volumes } from "./Volumes.ts"

/** The tables of a node, as far as they block. */
export interface NodeState {
  readonly effective: Effective
  readonly lines: Lines
  readonly gates: Pick<Gates, "isFull">
  readonly volumes: Pick<Volumes, "fullOf">
  /** True while a waiter whose turn has come takes its place: the other waiters do not block it. */
  readonly admitting: boolean
  /** Calls in flight on this node. */
  readonly total: number
  rulesFor(target: Target, connection: ConnectionPlace): TargetRules
}

/** All mechanisms are asked: what hides behind a guess, or ends later than another block, is what refuses in the end. */
export const blocked = (
  node: NodeState, target: Target, provider: ProviderPlace, connection: ConnectionPlace, model: ModelPlace | undefined, now: number, passesGuesses: boolean,
  ownFailures: OwnFailures | null
): Unavailable | null => {
  const record = target.connection
  if (record !== null && (!record.isActive || isTerminal(record))) {
    return { reason: "inactive", until: null, detail: record.isActive ? `The connection is ${record.testStatus}.` : "The connection is switched off." }
  }
  let resting = provider.breaker.openUntil === null || ownFailures?.excusesBreaker(target) === true
    ? null
    : refused(provider, ProviderBreaker.refusalOf(provider.breaker, target.model, now))
  if (now < provider.cooldown.until && !passesGuesses && ownFailures?.excusesProvider(target) !== true) {
    resting = stricter(resting, Rests.providerBlockOf(provider.cooldown))
  }
  const { cooldown } = connection
  if (now < cooldown.until && !(passesGuesses && cooldown.guessed) && ownFailures?.excusesRest(target, cooldown) !== true) {
    resting = stricter(resting, Rests.blockOf("connection-cooldown", cooldown))
  }
  if (model !== undefined && now < model.cooldown.until && !(passesGuesses && model.cooldown.guessed)) {
    resting = stricter(resting, Rests.blockOf("model-cooldown", model.cooldown))
  }
  const lockout = model?.lockout ?? null
  // A lockout that the operator asked for stands; the one after a 404 is a guess.
  const soft = !node.effective.lockout.enabled
  if (lockout !== null && now < lockout.until && !(passesGuesses && soft)) {
    const detail = `Locked after ${statusText(lockout.status)}, failures: ${lockout.failures}.`
    resting = stricter(resting, { reason: "model-lockout", until: lockout.until, soft, detail })
  }
  if (resting !== null && resting.soft !== true) return resting
  return behind(node, target, connection, now) ?? model?.behind(node.lines, node.admitting, now) ?? full(node, target, provider, connection, now) ?? resting
}

/** Others wait for the same: there is no overtaking. */
const behind = (node: NodeState, target: Target, connection: ConnectionPlace, now: number): Unavailable | null => {
  const waiting = node.lines.size === 0 ? 0 : node.lines.sizeOf(connection.line)
  if (waiting === 0) {
    connection.recovery = null
    return null
  }
  const { recovery } = connection
  if (recovery !== null) {
    if (!node.admitting) return { reason: "connection-cooldown", until: now, detail: `It comes back from a cooldown, and ${waiting} calls wait for it.` }
    return recovery.undecided >= recovery.allowed ? busy("Its first calls after a cooldown are not answered yet.") : null
  }
  if (node.admitting) return null
  const { pace } = node.rulesFor(target, connection)
  const until = pace === null ? null : Pace.opensAt(connection.pace, pace, now) + Math.ceil(waiting * Pace.intervalOf(pace))
  return busy(`${waiting} calls wait for the connection.`, until)
}

/** Caps and pacing. */
const full = (node: NodeState, target: Target, provider: ProviderPlace, connection: ConnectionPlace, now: number): Unavailable | null => {
  const { max, pace, volume } = node.rulesFor(target, connection)
  if (volume !== null && connection.id !== null) {
    const used = node.volumes.fullOf(connection.id, volume, connection.inFlight, now)
    if (used !== null) return busy(`${used.limit} ${used.unit} are allowed on the connection.`, used.until)
  }
  if (max > 0 && connection.inFlight >= max) return busy(`${max} calls at once are allowed on the connection.`)
  if (pace !== null) {
    const until = Pace.opensAt(connection.pace, pace, now)
    if (until > now) return busy(`${pace.perMinute > 0 ? `${pace.perMinute} calls a minute` : `A call every ${pace.gapMs} ms`} may begin on the connection.`, until)
  }
  if (provider.max > 0 && provider.inFlight >= provider.max) return busy(`${provider.max} calls at once are allowed at the provider.`)
  const { globalMax } = node.effective
  if (globalMax > 0 && node.total >= globalMax) return busy(`${globalMax} calls at once are allowed on this node.`)
  const { gate } = target
  if (gate === undefined || !node.gates.isFull(gate)) return null
  return { reason: "model-busy", until: null, detail: `${gate.max} calls at once are allowed on the model in this combo.` }
}

const refused = (provider: ProviderPlace, reply: Extract<ProviderBreaker.BreakerReply, { readonly _tag: "Refused" }> | null): Unavailable | null => {
  if (reply === null) return null
  const { failures, lastStatus } = provider.breaker
  return { reason: reply.reason, until: reply.until, detail: `Failures in a row: ${failures}, the last: ${statusText(lastStatus)}.` }
}

const busy = (detail: string, until: number | null = null): Unavailable => ({ reason: "connection-busy", until, detail })
