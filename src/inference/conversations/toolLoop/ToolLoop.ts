/**
 * A request whose model may use tools that the gateway runs: the allowed tools of MCP servers stand beside the client's own, and
 * functions stand in the place of a vendor's tools where the rules of the first target's connection say so. A call of such a tool is run here and the model asked again, until an answer is the client's: one without such calls, one that calls a tool of
 * the client's, or the one after the last turn, in which no tool may be called. Each turn is a call of its own, with its row, its limits
 * and its fallbacks; the client sees the last answer.
 */
import * as Effect from "effect/Effect"
import { Ensemble, type Given } from "#actors/ensemble/Ensemble.ts"
import * as Inbound from "#actors/request/Inbound.ts"
import type { AttemptNote, SkipNote } from "#actors/request/Inbound.ts"
import type { Face } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Answer, Conversation, ToolCallPart, ToolResultPart } from "#schemas/wire/conversation.ts"
import { ConversationEncoding } from "#src/inference/conversations/ConversationEncoding.ts"
import type { ConversationServices } from "#src/inference/conversations/ConversationServices.ts"
import * as Ensembles from "#src/inference/conversations/ensembles/Ensembles.ts"
import { partOf, saidInstead, type Whole } from "#src/inference/conversations/ensembles/part.ts"
import { PlannedRequest } from "#src/inference/lane/PlannedRequest.ts"
import type { ClientRequest, Planned } from "#src/inference/lane/Operation.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import type { ToolUser } from "#src/inference/ports/ServerTools.ts"
import * as Dialects from "#src/wire/dialects.ts"
import { restoredAnswer } from "#src/wire/neutral/restoredAnswer.ts"
import { restoredOf } from "#src/wire/neutral/ToolNames.ts"
import * as HostedTools from "./HostedTools.ts"
import * as Interception from "./interception.ts"
import * as ToolTurns from "./toolTurns.ts"

const FLAG = "SERVER_OWNED_TOOL_LOOP_ENABLED"
/** Tools that a request may be given: vendors take no more. */
const TOOLS_MAX = 128
/** Calls of one answer, and how many of them run at once. */
const CALLS_MAX = 16
const AT_ONCE = 4

/** Tools that the gateway runs for a request. */
interface Wanted {
  /** Which tools of MCP servers its header asks for; undefined = none. */
  readonly header: string | undefined
  /** Which of its tools the gateway takes over from the vendor; null = none. */
  readonly hosted: { readonly rules: Interception.Rules; readonly kinds: ReadonlySet<Interception.Kind> } | null
}

/** Null = none. The first target decides for all: a request has the same tools wherever it goes. */
export const wanted = ({ interceptions }: ConversationServices, clientRequest: Pick<ClientRequest, "header">, { prompt, route }: Planned): Wanted | null => {
  const header = clientRequest.header("x-gateway-tools")
  const rules = interceptions()
  const hosted = rules === null || Ensembles.isFor(route) ? null : takenOver(rules, route, prompt.parsed)
  return header === undefined && hosted === null ? null : { header, hosted }
}

const takenOver = (rules: Interception.Rules, { targets: [first] }: Planned["route"], body: Readonly<Record<string, unknown>>): Wanted["hosted"] => {
  const rule = first === undefined ? null : rules(first.connection?.id ?? null, first.model)
  const kinds = rule === null ? null : Interception.wanted(rule, body)
  return kinds === null || kinds.size === 0 ? null : { rules, kinds }
}

const refuse = (message: string, param = "X-Gateway-Tools"): PublicError => Errors.make("bad_request", message, { extra: { param } })

/** The client's own tools keep their names. */
const ownTools = ({ tools }: ConversationServices, user: ToolUser, header: string, { tools: clients }: Conversation) => {
  const taken = new Set(clients.map((tool) => tool.kind === "hosted" ? "" : tool.name))
  const isAsked = ToolTurns.asking(header)
  return tools.all().filter(({ name }) => isAsked(name) && !taken.has(name) && tools.missing(user, name) === null)
}

const nothingHosted = (conversation: Conversation): Interception.Replaced => ({ conversation, functions: new Map() })

/** `since`: when its waiting for a turn began; null = it did not wait. */
export const begin = (
  services: ConversationServices, face: Face, clientRequest: ClientRequest, call: ConversationCall, planned: Planned, { header, hosted }: Wanted, since: number | null
): Ensemble | PublicError => {
  const { codec, head } = call
  const { prompt, route } = planned
  if (header !== undefined && !services.admission.flags.isOn(FLAG)) return refuse(`The gateway runs no tools for models: its flag ${FLAG} is off.`)
  if (Ensembles.isFor(route)) return refuse(`Tools that the gateway runs do not go with combos of strategy ${route.combo.strategy}.`)
  const words = new ConversationEncoding(services, codec, head, prompt, route, null, clientRequest.header("x-gateway-effort"))
  const asked = words.decoded()
  if (asked instanceof PublicError) return asked
  if ((asked.settings.choices ?? 1) > 1) return refuse("Tools that the gateway runs do not go with several choices.", header === undefined ? "n" : undefined)
  const user: ToolUser = { key: call.key, isOperator: false, scopes: null }
  const { conversation: given, functions } = hosted === null ? nothingHosted(asked) : Interception.replaced(asked, hosted.kinds)
  const ownHosted = hosted === null ? null : HostedTools.make(services.askOwn, call, hosted.rules, functions)
  const offered = header === undefined ? [] : ownTools(services, user, header, given)
  if (header !== undefined && offered.length === 0) return refuse("No tool that this API key may use fits this header; GET /api/mcp/servers and the key's allowedMcpTools say which there are.")
  if (offered.length + asked.tools.length > TOOLS_MAX) return refuse(`${offered.length} tools fit this header; with the request's own, ${TOOLS_MAX} may be sent: name fewer.`)
  const own = new Set([...functions.keys(), ...offered.map(({ name }) => name)])
  const equipped: Conversation = { ...given, tools: [...given.tools, ...offered.map(ToolTurns.functionOf)] }

  const inbound = new PlannedRequest(services, { face }, clientRequest, call, planned, words)
  const whole: Whole = { services, codec, head, prompt, route, inbound, words }
  const attempts: Array<AttemptNote> = []
  const skipped: Array<SkipNote> = []
  const view = Inbound.changedView(inbound.route, {
    terminal: (error) => error,
    finished: (_ok, { notes, skips }) => {
      attempts.push(...notes)
      skipped.push(...skips)
    }
  })
  const notes = Inbound.notesOf(attempts, skipped)
  const told = Inbound.changed(inbound, { responseHeaders: (facts) => inbound.responseHeaders(facts, notes) })

  /** The answer in the client's words, as a stream where it asked for one. */
  const directOf = ({ body, stream = null, target }: Given, answer: Answer, isWhole: boolean) => {
    if (!head.stream && isWhole) return { stream: false, body }
    if (head.stream && stream !== null) return { stream: true, body: stream }
    const restored = restoredOf(equipped)
    const shown = restored === null ? answer : restoredAnswer(answer, restored)
    const options = {
      model: target.publicModel, request: prompt.parsed, includeUsage: head.stream ? head.wantsUsage : true, makeId: services.makeResponseId,
      now: () => Math.floor(services.request.now() / 1000)
    }
    return head.stream
      ? { stream: true, body: Buffer.from(Dialects.streamOf(shown, codec, options)) }
      : { stream: false, body: Buffer.from(codec.encodeAnswer(shown, options)) }
  }

  const runOne = (ensemble: Ensemble, target: Target) => (part: ToolCallPart, place: number): Effect.Effect<ToolResultPart> => {
    const failed = (message: string) => Effect.succeed(ToolTurns.resultOf(part, { isError: true, content: [{ type: "text", text: message }] }))
    if (place >= CALLS_MAX) return failed(`Not called: an answer may call ${CALLS_MAX} tools.`)
    const args = ToolTurns.argumentsOf(part)
    if (args === null) return failed("Not called: the arguments are not a JSON object.")
    if (ownHosted !== null && ownHosted.has(part.name)) return Effect.map(ownHosted.call(part.name, args, target), ({ cost, result }) => {
      ensemble.spent(cost)
      return ToolTurns.resultOf(part, result)
    })
    return Effect.map(services.tools.call(user, part.name, args), ({ result }) => ToolTurns.resultOf(part, result))
  }

  const turn = (ensemble: Ensemble, said: Conversation, number: number): Effect.Effect<void> => {
    if (number > services.toolLoopSteps) {
      const encoding = saidInstead(whole, ToolTurns.lastOf(said))
      const last = new PlannedRequest(services, { face }, clientRequest, call, planned, encoding)
      return ensemble.finish(Inbound.changed(last, {
        route: Inbound.changedView(view, { terminal: (error) => inbound.route.terminal(error, attempts, skipped), line: () => inbound.route.line(notes) })
      }))
    }
    return Effect.flatMap(ensemble.ask(partOf(whole, { conversation: said, targets: inbound.targets, view }), "turn"), (given) => {
      const { answer } = given
      if (answer === null) return Effect.sync(() => ensemble.refuse(inbound.route.terminal(given.error ?? AttemptFailure.shuttingDown(), attempts, skipped)))
      const calls = ToolTurns.callsOf(answer, own)
      if (calls.own.length === 0 || calls.others) {
        return Effect.sync(() => ensemble.give(given.target, directOf(given, ToolTurns.withoutOwn(answer, own), calls.own.length === 0)))
      }
      ensemble.passOn()
      const running = Effect.forEach(calls.own, runOne(ensemble, given.target), { concurrency: AT_ONCE })
      return Effect.flatMap(ensemble.during(running), (results) => results === null
        ? Effect.sync(() => ensemble.refuse(AttemptFailure.shuttingDown()))
        : turn(ensemble, ToolTurns.continued(said, answer, results), number + 1))
    })
  }

  const around = { services: services.request, fork: services.fork, live: services.live }
  return new Ensemble(around, since === null ? told : Inbound.changed(told, { since }), (ensemble) => turn(ensemble, equipped, 1),
    (ok, latencyMs) => inbound.route.finished?.(ok, notes, latencyMs))
}
