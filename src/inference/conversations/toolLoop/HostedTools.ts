/**
 * Runs a model's searches and pages through the gateway's own endpoints, in the name of the request's key: admitted, limited and billed
 * as its calls, with rows under the id of the conversation's request.
 */
import * as Effect from "effect/Effect"
import type { Target } from "#actors/request/ports/Target.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import * as OwnCalls from "#src/inference/ports/OwnCalls.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Interception from "./interception.ts"

type Body = Readonly<Record<string, unknown>>

export interface Told {
  /** An MCP result. */
  readonly result: Body
  /** USD. */
  readonly cost: number
}

export interface HostedTools {
  readonly has: (name: string) => boolean
  /** `target`: whose model calls it. */
  readonly call: (name: string, args: Body, target: Target) => Effect.Effect<Told>
}

const failed = (message: string): Told => ({ result: { isError: true, content: [{ type: "text", text: message }] }, cost: 0 })

const problemIn = (answer: Body | null, status: number): string => {
  const error = answer?.["error"]
  const message = Json.isRecord(error) && typeof error["message"] === "string" ? error["message"] : ""
  return message === "" ? `The gateway answered ${status}.` : message
}

export const make = (ask: OwnCalls.OwnCalls["Service"]["ask"], call: ConversationCall, rules: Interception.Rules, functions: Interception.Replaced["functions"]): HostedTools => {
  const { key, request, tags } = call
  const used = new Map<string, number>()
  const headers = ["x-request-id", tags.requestId, ...tags.sessionTag === null ? [] : ["x-gateway-session-id", tags.sessionTag]]

  const asked = (path: string, body: Body | null, tell: (answer: Body) => string): Effect.Effect<Told> => {
    if (body === null) return Effect.succeed(failed("Not called: its argument is missing."))
    const question = { path, body: JSON.stringify(body), keyHash: key === null ? null : key.keyHash, address: request.remoteAddress, headers }
    return Effect.map(ask(question), (said) => {
      const { body: text, status } = said
      const answer = Json.parseRecord(text)
      if (answer === null || !StatusReason.isOk(status)) return failed(problemIn(answer, status))
      return { result: { content: [{ type: "text", text: tell(answer) }] }, cost: OwnCalls.costOf(said) }
    })
  }

  return {
    has: (name) => functions.has(name),
    call: (name, args, target) => Effect.suspend(() => {
      const hosted = functions.get(name)
      if (hosted === undefined) return Effect.succeed(failed(`There is no tool ${name}.`))
      const { bounds, kind } = hosted
      const uses = (used.get(name) ?? 0) + 1
      used.set(name, uses)
      if (bounds.maxUses !== null && uses > bounds.maxUses) return Effect.succeed(failed(`Not called: this tool may be called ${bounds.maxUses} times (max_uses).`))
      if (kind === "search") return asked("/v1/search", Interception.searchOf(args, bounds), (answer) => Interception.foundIn(answer, bounds))
      const body = Interception.fetchOf(args, rules(target.connection?.id ?? null, target.model)?.fetchBackend ?? null)
      if (body !== null && !Interception.mayUse(bounds, String(body["url"]))) return Effect.succeed(failed("Not called: pages of this domain may not be read."))
      return asked("/v1/web/fetch", body, (answer) => Interception.pageIn(answer, bounds))
    })
  }
}
