/**
 * A token count that the provider makes, as a request of the gateway: one wire call with its place at the target, its start record and
 * its row like any other, without tokens and cost. Whoever cannot be asked, or gives no count, leaves the estimate to the caller.
 */
import type { Client, Inbound, RouteView } from "#actors/request/Inbound.ts"
import type { Verdict } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import { RequestActor, type Services } from "#actors/request/Request.ts"
import { silent } from "#src/inference/conversations/ensembles/part.ts"
import type { Asking } from "#src/inference/lane/Operation.ts"
import type { ConversationServices } from "#src/inference/conversations/services.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stage.ts"
import type { Route } from "#src/routing/Router.ts"
import * as Formats from "#src/wire/formats.ts"
import * as ForwardHeaders from "#src/wire/forwardHeaders.ts"
import * as Json from "#src/wire/json/json.ts"

/** A count that takes longer than this is estimated, ms. */
const withinMs = 10_000
/** What a server answers that has no counter: nothing about its models. */
const noCounter: ReadonlySet<number> = new Set([404, 405, 501])
/** A count is a few numbers, bytes. */
const longestCount = 64 * 1024
const noTokens = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
const noHeaders: ReadonlyArray<string> = []

/** The provider's own counter. */
export interface Counter {
  readonly target: Target
  readonly path: string
  readonly body: Uint8Array
  /** The reply for the client; null when the provider's names no count. */
  readonly replyOf: (answer: Readonly<Record<string, unknown>>) => string | null
}

/** The actor of the call; `done` hears once of the reply, or of null, unless the client left. */
export const actorOf = (
  services: ConversationServices, asking: Asking, call: ConversationCall, route: Route, { body, path, replyOf, target }: Counter, done: (reply: string | null) => void
): RequestActor => {
  const { codec, head, key, tags } = call
  const forwarded = ForwardHeaders.toUpstream(asking.headers)
  const client: Client = {
    ...silent,
    respond: (status, _headers, answer) => done(status === 200 ? Buffer.from(answer).toString("utf8") : null)
  }
  // A count costs nothing, whatever the model does.
  const counted: Target = { ...target, path, streamPath: path, price: null }
  const view: RouteView = {
    strategy: route.strategy, combo: route.combo === null ? null : route.combo.name, policy: once, lastResort: false,
    succeeded: () => undefined, finished: null, terminal: (error) => error, line: () => ""
  }
  const inbound: Inbound = {
    requestId: tags.requestId, client, face: Formats.faceOf(codec, services.sseComments), endpoint: call.endpoint, requestedModel: head.model,
    stream: false, forwardUsage: false, progress: false, recovery: { holds: false, sibling: false, continues: false, stopsAtEmpty: false },
    key, sessionTag: tags.sessionTag, targets: [counted], refusalOf: services.router().guardOf(key, head.model, route), route: view,
    companions: call.companions,
    bodyFor: () => body,
    continuationFor: () => body,
    omittedFor: () => noHeaders,
    dialectFor: () => ({
      ...Formats.dialectOf(codec, Formats.family(target.wireFormat), {
        model: target.publicModel, request: call.parsed, makeId: services.makeResponseId, now: () => Math.floor(services.request.now() / 1000)
      }),
      readAnswer: (answer) => {
        const said = answer.length > longestCount ? null : Json.parseRecord(Buffer.from(answer).toString("utf8"))
        const reply = said === null ? null : replyOf(said)
        return reply === null ? null : { usage: noTokens, error: null, body: Buffer.from(reply), outputText: () => "" }
      }
    }),
    headersFor: () => forwarded.length === 0 ? target.headers : ForwardHeaders.merge(target.headers, forwarded, codec.name, target.wireFormat),
    tokenless: true,
    promptText: () => "",
    release: () => undefined,
    responseHeaders: () => noHeaders,
    errorHeaders: () => noHeaders
  }
  return new RequestActor(servicesOf(services.request), inbound)
}

/** A count waits in no line, is made once, and its failure is not the client's: it is given an estimate. */
const servicesOf = ({ turns: _turns, ...services }: Services): Services => {
  const { ledger, limits, report, resilience, telemetry } = services
  return {
    ...services,
    limits: { ...limits, maxAttempts: 1, timeouts: { connect: withinMs, headers: withinMs, firstEvent: 0, idle: withinMs, total: withinMs } },
    ledger: {
      open: (start, go) => ledger.open(start, go),
      settle: (row) => ledger.settle(row.outcome === "completed" ? row : { ...row, final: false }),
      journal: () => ledger.journal(),
      reconciliation: () => ledger.reconciliation(),
      flush: (timeout) => ledger.flush(timeout)
    },
    telemetry: {
      requestStarted: (endpoint, stream) => telemetry.requestStarted(endpoint, stream),
      attemptSettled: (row) => telemetry.attemptSettled(row.outcome === "completed" ? row : { ...row, final: false }),
      requestSettled: (summary) =>
        telemetry.requestSettled(summary.outcome === "client-abort" ? summary : { ...summary, status: 200, outcome: "completed", errorCode: null }),
      render: () => telemetry.render()
    },
    resilience: {
      check: (target, now) => resilience.check(target, now),
      enter: (target, now, lastResort) => {
        const place = resilience.enter(target, now, lastResort)
        return "release" in place ? { answered: (at) => place.answered(at), release: (verdict, at) => place.release(heard(verdict), at) } : place
      }
    },
    report: (target, end) => {
      if (!noCounter.has(end.upstreamStatus)) report(target, end)
    }
  }
}

const heard = (verdict: Verdict | null): Verdict | null => verdict !== null && noCounter.has(verdict.status) ? null : verdict
