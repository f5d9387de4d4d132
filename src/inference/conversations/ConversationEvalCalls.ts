/** The port EvalCalls over the request path: a chat request of the gateway's own, from the key's rules to the ledger, answered in memory. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type EvalAnswer, EvalCalls, type EvalEndpoint, type EvalQuestion } from "#src/inference/ports/EvalCalls.ts"
import { PublicError } from "#schemas/errors.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import * as Conversations from "./Conversations.ts"
import { type ConversationServices, Conversing } from "./ConversationServices.ts"
import * as Ensembles from "#src/inference/conversations/ensembles/Ensembles.ts"
import { silent } from "#src/inference/conversations/ensembles/part.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import * as Stages from "#src/inference/lane/stages/Stages.ts"
import { client as codec } from "#src/wire/chatCompletions/index.ts"
import * as Json from "#src/wire/json/json.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** An answer that was given before says nothing of the model now, so caches and joined requests are passed by. */
const passed: ReadonlySet<string> = new Set(["leases", "limits", "throttle", "lease-fence"])

const nothing = (): void => undefined
const clientRequest = { header: () => undefined, headers: [], query: "", remoteAddress: "" }

const textIn = (body: Record<string, unknown> | null): string | null => {
  const choices = body?.["choices"]
  const [choice] = Array.isArray(choices) ? choices as ReadonlyArray<unknown> : []
  const message = Json.isRecord(choice) ? Json.recordAt(choice, "message") : null
  if (message === null) return null
  return typeof message["content"] === "string" ? message["content"] : ""
}

const errorIn = (body: Record<string, unknown> | null, status: number): string => {
  const error = body === null ? null : Json.recordAt(body, "error")
  return typeof error?.["message"] === "string" ? error["message"] : `The call ended with status ${status}.`
}

const valueOf = (headers: ReadonlyArray<string>, name: string): string | null => {
  const at = headers.findIndex((header, i) => i % 2 === 0 && header === name)
  return at < 0 ? null : headers[at + 1] ?? null
}

export const make = (services: ConversationServices): EvalCalls["Service"] => {
  const stages = services.stages.filter(({ name }) => passed.has(name))
  const operationOf = (endpoint: EvalEndpoint) => Conversations.operation(services, { endpoint, codec })
  const operations = { "/api/evals": operationOf("/api/evals"), "/api/assess": operationOf("/api/assess") }
  const { now } = services.request

  const call = ({ endpoint = "/api/evals", key, maxTokens, messages, model }: EvalQuestion) => Effect.callback<EvalAnswer>((resume) => {
    const startedAt = now()
    const operation = operations[endpoint]
    let answer: EvalAnswer | null = null
    let gone: () => void = nothing
    let left = false
    let several = false
    const failed = (error: string, status = 0): EvalAnswer => ({ text: null, error, status, answeredBy: null, latencyMs: Math.round(now() - startedAt) })
    const over = (): void => resume(Effect.succeed(answer ?? failed("The call ended without an answer.")))
    const refuse = (error: PublicError): void => {
      answer ??= failed(error.message, error.status)
      over()
    }
    const parsed = { model, messages, max_tokens: maxTokens }
    const body = Buffer.from(JSON.stringify(parsed))
    const opened: Stages.ConversationCall = {
      tags: { requestId: services.admission.makeRequestId(), sessionTag: null, session: null },
      key, endpoint, format: codec.name, codec, body, parsed,
      head: { model, stream: false, wantsUsage: false },
      units: null,
      request: clientRequest,
      client: {
        ...silent,
        respond: (status, headers, bytes) => {
          if (bytes.length > LARGE_BYTES) {
            answer = failed(`The answer is longer than ${LARGE_BYTES} bytes, the most that is judged.`, status)
            return
          }
          const said = Json.parseRecord(typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8"))
          const text = StatusReason.isOk(status) ? textIn(said) : null
          answer = text === null
            ? failed(errorIn(said, status), status)
            : { text, error: null, status, answeredBy: several ? null : valueOf(headers, "X-Gateway-Model"), latencyMs: Math.round(now() - startedAt) }
        }
      },
      interceptors: [],
      passage: {
        refuse,
        onGone: (listener) => {
          gone = listener
        }
      }
    }
    Stages.pass(stages, opened, (admitted) => {
      if (left) return
      const planned = Lane.plan(services, operation, clientRequest, admitted)
      if (planned instanceof PublicError) return refuse(planned)
      several = Ensembles.isFor(planned.route)
      const served = Lane.serve(services, operation, clientRequest, admitted, planned, undefined)
      if (served instanceof PublicError) return refuse(served)
      services.live.add(served)
      const fiber = services.fork(served.run)
      gone = () => served.clientLeft(false)
      fiber.addObserver(over)
    })
    return Effect.sync(() => {
      left = true
      gone()
    })
  })

  return {
    ask: (question) => Effect.map(Effect.timeoutOption(call(question), question.timeoutMs), Option.getOrElse((): EvalAnswer => ({
      text: null, error: `No answer within ${question.timeoutMs} ms.`, status: 0, answeredBy: null, latencyMs: question.timeoutMs
    })))
  }
}

export const layer = Layer.effect(EvalCalls, Effect.map(Conversing, make))
