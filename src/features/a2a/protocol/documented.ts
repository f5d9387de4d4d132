/**
 * The gateway's own dialect: `{skill, messages}` in, `{task, artifacts, metadata}` out. Its tasks and states are those of the other
 * dialects.
 */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Refusal } from "#schemas/api/Refusal.ts"
import type { Desk } from "#src/features/a2a/Desk.ts"
import { LONGEST_ID, MOST_MESSAGES } from "#src/features/a2a/Desk.ts"
import { type A2aTask, isEnded } from "#src/features/a2a/ports/A2aTask.ts"
import type { Json } from "#src/management/inner/Inner.ts"
import * as Beats from "./beats.ts"
import * as Frames from "./frames.ts"
import { recordView } from "./views.ts"

const id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(LONGEST_ID))

const Sending = Schema.Struct({
  skill: id,
  messages: Schema.Array(Schema.Struct({ role: Schema.String.check(Schema.isMaxLength(20)), content: Schema.String })).check(Schema.isMinLength(1), Schema.isMaxLength(MOST_MESSAGES)),
  metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})
const Naming = Schema.Struct({ taskId: id })

const sending = Schema.decodeUnknownResult(Sending, { errors: "all" })
const naming = Schema.decodeUnknownResult(Naming, { errors: "all" })

export const methods: ReadonlySet<string> = new Set(["message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"])

/** Is a request of one of these methods in this dialect? `params.message` and `params.id` are those of the protocol. */
export const isMeant = (method: string, params: unknown): boolean => {
  if (!methods.has(method)) return false
  const has = (name: string): boolean => typeof params === "object" && params !== null && Object.hasOwn(params, name)
  return method.startsWith("message/") ? !has("message") : has("taskId") || !has("id")
}

const codeOf = { invalid: Frames.codes.invalidParams, not_authorized: Frames.codes.notAuthorized, budget: Frames.codes.budget, provider: Frames.codes.provider, internal: Frames.codes.internal } as const

const taskOf = ({ id, state }: A2aTask): Json => ({ id, state })
const artifactsOf = ({ artifacts }: A2aTask): Json => artifacts.map(({ content, type }) => ({ type: type === "error" ? "error" : "text", content: type === "data" ? JSON.stringify(content) : content }))
const resultOf = (task: A2aTask): Json => ({ task: taskOf(task), artifacts: artifactsOf(task), metadata: task.metadata })

/** The frame that ends a call for a task: a failure is an error that holds the same. */
const endOf = (frameId: Frames.Id, task: A2aTask): Json => task.fault === null
  ? Frames.result(frameId, resultOf(task))
  : Frames.error(frameId, codeOf[task.fault.kind], task.fault.message, resultOf(task))

const unknown = (frameId: Frames.Id): Json => Frames.error(frameId, Frames.codes.notFound, "There is no such task.")
const notification = (params: Json): Json => ({ jsonrpc: "2.0", method: "message/stream", params })

type Response = HttpServerResponse.HttpServerResponse

const lost = "The task cannot be followed any more; read it with tasks/get."

const textOf = (task: A2aTask | null): string => {
  const [first] = task?.artifacts ?? []
  return first?.type === "text" && typeof first.content === "string" ? first.content : ""
}

/** What a reader who has seen `before` is told of `after`. */
const told = (before: A2aTask | null, after: A2aTask): ReadonlyArray<string> => {
  const seen = textOf(before)
  const text = textOf(after)
  const said = text.length > seen.length ? [Frames.event(notification({ task: taskOf(after), chunk: { type: "text", content: text.slice(seen.length) } }))] : []
  if (isEnded(after.state)) return [...said, Frames.event(notification({ task: taskOf(after), artifacts: artifactsOf(after), metadata: after.metadata }))]
  return said.length > 0 || before?.state === after.state ? said : [Frames.event(notification({ task: taskOf(after) }))]
}

export const make = (beats: Beats.Beats) => Effect.map(SecureRandom.SecureRandom, (random) => {
  const errandOf = Effect.fnUntraced(function*(params: unknown) {
    const decoded = sending(params ?? {})
    if (decoded._tag === "Failure") return decoded.failure.message.slice(0, 500)
    const { messages, metadata, skill } = decoded.success
    return {
      skill, contextId: yield* random.uuidV4(), request: metadata ?? {},
      messages: yield* Effect.forEach(messages, ({ content, role }) => Effect.map(random.uuidV4(), (made) => ({ id: made, role, content })))
    }
  })

  const stream = (frameId: Frames.Id, desk: Desk, taskId: string, left: () => void): Effect.Effect<Response> => {
    const frames = Stream.mapAccum(desk.watch(taskId), (): A2aTask | null => null, (before, task: A2aTask) => [task, told(before, task)] as const)
    const whole = Stream.catchCause(frames, () => Stream.make(Frames.errorEvent(Frames.error(frameId, Frames.codes.internal, lost))))
    return Effect.map(Stream.toAsyncIterableEffect(whole), (iterable) => Beats.response(iterable[Symbol.asyncIterator](), beats, left))
  }

  return (frameId: Frames.Id, method: string, params: unknown, desk: Desk, left: () => void): Effect.Effect<Response, Refusal> => Effect.gen(function*() {
    if (method.startsWith("message/")) {
      const errand = yield* errandOf(params)
      if (typeof errand === "string") return Frames.reply(Frames.error(frameId, Frames.codes.invalidParams, errand))
      const begun = yield* Effect.catchTag(desk.begin(errand), "WrongErrand", ({ message }) => Effect.succeed(message))
      if (typeof begun === "string") return Frames.reply(Frames.error(frameId, Frames.codes.invalidParams, begun))
      if (method === "message/stream") return yield* stream(frameId, desk, begun.id, left)
      const last = yield* Effect.orElseSucceed(Stream.runLast(desk.watch(begun.id)), () => null)
      return Frames.reply(last === null || last._tag === "None" ? Frames.error(frameId, Frames.codes.internal, lost, { task: taskOf(begun) }) : endOf(frameId, last.value))
    }
    const named = naming(params ?? {})
    if (named._tag === "Failure") return Frames.reply(Frames.error(frameId, Frames.codes.invalidParams, named.failure.message.slice(0, 500)))
    const { taskId } = named.success
    if (method === "tasks/cancel") {
      const ended = yield* Effect.catchTag(desk.cancel(taskId), "AlreadyEnded", () => Effect.succeed("ended" as const))
      if (ended === "ended") return Frames.reply(Frames.error(frameId, Frames.codes.ended, "The task has ended already."))
      return Frames.reply(ended === null ? unknown(frameId) : Frames.result(frameId, { task: recordView(ended) }))
    }
    const task = yield* desk.find(taskId)
    if (task === null) return Frames.reply(unknown(frameId))
    return method === "tasks/get" ? Frames.reply(Frames.result(frameId, { task: recordView(task) })) : yield* stream(frameId, desk, taskId, left)
  })
})
