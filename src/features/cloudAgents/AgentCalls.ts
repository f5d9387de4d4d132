/** Calls to cloud agents: through the URL guard and the outbound proxies, with deadlines, one JSON object back, no redirects. */
import * as Effect from "effect/Effect"
import type { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { ControlCalls } from "#src/platform/upstream/egress/ControlCalls.ts"
import * as SmallAnswer from "#src/platform/upstream/egress/smallAnswer.ts"
import { parseRecord } from "#src/wire/json/json.ts"
import { type Call, type CloudAgent, type Json, objectIn, textIn } from "./agents/CloudAgent.ts"

/** Bytes of an answer that are read: a conversation of a long task is large. */
const ANSWER_MAX = 8 * 1024 * 1024
const timeouts = { connect: 5_000, headers: 30_000, firstEvent: 0, idle: 15_000, total: 45_000 }

export interface Access {
  readonly apiKey: string
  readonly baseUrl: string
}

export interface AgentCalls {
  readonly ask: (agent: CloudAgent, access: Access, call: Call) => Effect.Effect<Json, Refusal.Refusal>
}

const failed = (message: string): Refusal.Refusal => new Refusal.Refusal(502, "server_error", "upstream_error", message)

const parse = (body: string): Json | null => body.trim() === "" ? {} : parseRecord(body)

/** What the vendor says of a refusal, in any of the usual places. */
const reasonIn = (json: Json | null): string => {
  const error = json?.["error"]
  const said = textIn(objectIn(error)["message"]) ?? textIn(error) ?? textIn(json?.["message"]) ?? textIn(json?.["detail"])
  return said === null ? "" : `: ${said.slice(0, 500)}`
}

export const make = (calls: ControlCalls, guard: UrlGuard["Service"]): AgentCalls => ({
  ask: Effect.fnUntraced(function*(agent, access, call) {
    const url = new URL(`${access.baseUrl.replace(/\/+$/, "")}${call.path}`)
    yield* Effect.mapError(guard.check(url.href, "provider"), ({ message }) => failed(`${agent.title} may not be called: ${message}`))
    const body = call.body === null ? null : JSON.stringify(call.body)
    const headers = [
      "accept", "application/json", "accept-encoding", "identity", "user-agent", "gateway", ...agent.headers(access.apiKey),
      ...body === null ? [] : ["content-type", "application/json"]
    ]
    const answer = yield* SmallAnswer.read(
      ANSWER_MAX,
      (handler) => calls.dispatch({ connection: null, provider: agent.id }, { origin: url.origin, path: url.pathname + url.search, method: call.method, headers, body, timeouts }, handler),
      {
        failed: ({ message, reason }) => failed(`${agent.title} cannot be reached (${reason}): ${message.slice(0, 200)}`),
        tooLarge: () => failed(`${agent.title}'s answer is larger than ${ANSWER_MAX} bytes`)
      }
    )
    const json = parse(answer.body)
    if (!StatusReason.isOk(answer.status)) return yield* Effect.fail(failed(`${agent.title} answered ${answer.status}${reasonIn(json)}`))
    if (json === null) return yield* Effect.fail(failed(`${agent.title} answered no JSON object`))
    return json
  })
})
