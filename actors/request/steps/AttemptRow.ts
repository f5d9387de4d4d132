/**
 * The ledger row of one attempt, from its start record on: what its end tells is filled in when it is settled. One object for both,
 * because a start of its own, and the copy of all its fields, cost each request 0.2 kB.
 */
import type { AttemptEnd } from "./attemptValues.ts"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as RequestFacts from "#actors/request/requestFacts.ts"
import type { Services } from "#actors/request/services.ts"
import type { LedgerRow, Outcome, Phases } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"

/** The try that a row is about. */
export interface TryFacts {
  readonly target: Target
  /** ms since the epoch. */
  readonly requestedAt: number
  readonly beganAt: number
  readonly placedAt: number
}

export class AttemptRow implements LedgerRow {
  readonly attemptId: string
  readonly attempt: number
  readonly startedAt: number
  readonly nodeId: string
  readonly requestId: string
  readonly endpoint: string
  readonly requestedModel: string
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
  readonly apiKeyId: string | null
  readonly apiKeyName: string | null
  readonly combo: string | null
  readonly sessionTag: string | null
  readonly sourceFormat: string
  readonly targetFormat: string
  readonly stream: boolean
  final = false
  settledAt = 0
  outcome: Outcome = "crashed"
  upstreamStatus = 0
  status = 0
  clientStatus = 0
  errorCode: string | null = null
  phase: string | null = null
  tokensIn = 0
  tokensOut = 0
  tokensCacheRead = 0
  tokensCacheCreation = 0
  tokensReasoning = 0
  estimated = false
  units: Units.Units | null = null
  unpriced = false
  costUsd = 0
  latencyMs = 0
  ttftMs: number | null = null
  phases: Phases | null = null
  tokensCompressed: number | null = null
  proxyId: string | null

  constructor(inbound: Inbound, target: Target, { makeAttemptId, nodeId }: Pick<Services, "makeAttemptId" | "nodeId">, attempt: number, startedAt: number) {
    this.attemptId = makeAttemptId()
    this.attempt = attempt
    this.startedAt = startedAt
    this.nodeId = nodeId
    this.requestId = inbound.requestId
    this.endpoint = inbound.endpoint
    this.requestedModel = inbound.requestedModel
    this.provider = target.provider
    this.model = target.model
    this.connectionId = target.connection === null ? null : target.connection.id
    this.apiKeyId = inbound.key === null ? null : inbound.key.id
    this.apiKeyName = inbound.key === null ? null : inbound.key.name
    this.combo = inbound.route.combo
    this.sessionTag = inbound.sessionTag
    this.sourceFormat = inbound.face.name
    this.targetFormat = target.wireFormat
    this.stream = inbound.stream
    this.proxyId = target.proxy === null ? null : target.proxy.id
  }

  /** Called once. `settledAt`: ms; `clientStatus`: 0 = none by this attempt; `goneCode`: null unless the client has gone. */
  settle(
    one: TryFacts, end: AttemptEnd, settledAt: number, inbound: Inbound, accounting: Accounting["Service"],
    final: boolean, clientStatus: number, goneCode: RequestFacts.GoneCode | null
  ): LedgerRow {
    const { target } = one
    const outcome = goneCode !== null ? "client-abort" : end.outcome
    const { estimated, usage } = RequestFacts.usageOf(end, outcome, inbound, accounting)
    const units = RequestFacts.unitsOf(end, outcome, inbound, target)
    const gone = outcome === "client-abort"
    this.final = final
    this.settledAt = settledAt
    this.outcome = outcome
    this.upstreamStatus = end.upstreamStatus
    this.status = gone ? 499 : end.error !== null ? end.error.status : 200
    this.clientStatus = clientStatus
    this.errorCode = gone ? goneCode : end.error === null ? null : end.error.code
    this.phase = end.phase
    this.tokensIn = usage.input
    this.tokensOut = usage.output
    this.tokensCacheRead = usage.cacheRead
    this.tokensCacheCreation = usage.cacheCreation
    this.tokensReasoning = usage.reasoning
    this.estimated = estimated
    this.units = units
    this.unpriced = Units.unpriced(units, target.price)
    this.costUsd = accounting.cost(target, usage, units)
    this.latencyMs = RequestFacts.elapsed(this.startedAt, settledAt)
    this.ttftMs = end.firstContentAt === null ? null : RequestFacts.elapsed(this.startedAt, end.firstContentAt)
    this.phases = this.phasesOf(one, end)
    this.tokensCompressed = inbound.tokensCompressed === undefined ? null : inbound.tokensCompressed()
    return this
  }

  /** Numbers that are known anyway, but for three readings of the clock. */
  private phasesOf(one: TryFacts, { endedAt, headAt, sentAt }: AttemptEnd): Phases {
    const { startedAt } = this
    return {
      before: RequestFacts.elapsed(one.requestedAt, one.beganAt),
      queue: RequestFacts.elapsed(one.beganAt, one.placedAt),
      limits: RequestFacts.elapsed(one.placedAt, startedAt),
      sent: sentAt === null ? null : RequestFacts.elapsed(startedAt, sentAt),
      head: headAt === null ? null : RequestFacts.elapsed(startedAt, headAt),
      end: RequestFacts.elapsed(startedAt, endedAt)
    }
  }
}
