import * as ByteSize from "effect/ByteSize"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { version } from "#schemas/version.ts"
import type { Json } from "#src/management/inner/Inner.ts"
import * as Render from "#src/management/render.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Origin from "#src/platform/gate/origin.ts"
import { A2aOptions } from "./A2aOptions.ts"
import * as Admission from "./Admission.ts"
import { A2aGroup } from "./api.ts"
import * as Cards from "./cards.ts"
import * as Desk from "./Desk.ts"
import { A2aTaskStore } from "./ports/A2aTaskStore.ts"
import * as Versions from "#src/features/a2a/protocol/Versions.ts"
import { viewOf } from "./protocol/views.ts"
import * as SkillServices from "./skills/SkillServices.ts"
import { Tasks } from "./Tasks.ts"

/** Tasks of a page. */
const LIMIT = 50
/** The counts of the status are read at most this often, ms. */
const COUNT_EVERY = "5 seconds"

const card = (body: Json): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { headers: { "cache-control": "public, max-age=3600", vary: "A2A-Version, Host" } })

const isJson = (contentType: string | undefined): boolean => contentType === undefined || (contentType.split(";")[0] as string).trim().toLowerCase() === "application/json"

/** A frame as text, bounded in bytes and depth. */
const textOf = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  if (Number(request.headers["content-length"] ?? "0") > Render.BODY_MAX) return yield* Effect.fail(Refusal.payloadTooLarge(Render.BODY_MAX))
  if (!isJson(request.headers["content-type"])) return yield* Effect.fail(Refusal.unsupportedMediaType())
  const text = yield* request.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(Render.BODY_MAX)),
    Effect.mapError((error) => Render.ofCause(Cause.fail(error)).refusal)
  )
  if (Render.isTooDeep(text)) return yield* Effect.fail(Refusal.badRequest(`The body is nested deeper than ${Render.DEPTH_MAX} levels`))
  return text
})

export const layer = HttpApiBuilder.group(Surface.make(A2aGroup), "a2a", Effect.fn(function*(handlers) {
  const admit = yield* Admission.make
  const configuration = yield* Configuration
  const dialects = yield* Versions.make
  const options = yield* A2aOptions
  const services = yield* SkillServices.make
  const store = yield* A2aTaskStore
  const tasks = yield* Tasks
  const counts = yield* Effect.cachedWithTTL(Effect.orElseSucceed(store.counts, () => null), COUNT_EVERY)

  const isEnabled = (): boolean => configuration.current().settings.get("a2aEnabled") === true
  const ownAddress = (): string | null => {
    const url = configuration.current().settings.get("baseUrl")
    return typeof url === "string" && url !== "" ? url.replace(/\/+$/, "") : null
  }
  const baseOf = (request: HttpServerRequest.HttpServerRequest): string =>
    options.publicUrl ?? ownAddress() ?? `${Origin.isSecure(request.protocol, request.headers) ? "https" : "http"}://${request.headers["host"] ?? "localhost"}`

  const desk = Effect.map(admit, (caller) => Desk.make(tasks, services, caller, () => false))
  const unknown = (id: string) => Refusal.notFound(`There is no task '${id.slice(0, Desk.LONGEST_ID)}'`)

  const send = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const caller = yield* admit
    if (!isEnabled()) return yield* Effect.fail(Refusal.unavailable("The agent-to-agent server is switched off: set the setting a2aEnabled", { code: "A2A_DISABLED" }))
    const reader = { left: false }
    const left = (): void => {
      reader.left = true
    }
    const own = Desk.make(tasks, services, caller, () => reader.left)
    return yield* dialects(yield* textOf(request), { versionHeader: request.headers["a2a-version"], base: baseOf(request) }, own, left).pipe(
      Effect.onInterrupt(() => Effect.sync(left))
    )
  })

  const status = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const enabled = isEnabled()
    return {
      status: enabled ? "ok" as const : "disabled" as const, online: enabled, enabled, tasks: yield* counts,
      agent: enabled ? { name: Cards.name, description: Cards.description, version, url: `${baseOf(request)}${Cards.path}` } : null,
      capabilities: Cards.capabilities, skills: Cards.skillViews
    }
  })

  const olderCard = Effect.map(HttpServerRequest.HttpServerRequest, (request) => card(Cards.older(baseOf(request))))

  return handlers.handleAll({
    send: () => send,
    card: () => olderCard,
    newCard: () => Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Versions.isNewest(request.headers["a2a-version"]) ? Effect.succeed(card(Cards.newest(baseOf(request)))) : olderCard),
    status: () => status,
    list: ({ query }) => Effect.gen(function*() {
      const { limit = LIMIT, offset = 0, skill, state } = query
      const { tasks: found, total } = yield* (yield* desk).list({ limit, offset, skill, state })
      return { tasks: found.map(viewOf), total, limit, offset }
    }),
    get: ({ params: { id } }) => Effect.flatMap(desk, ({ find }) => Effect.flatMap(find(id), (task) =>
      task === null ? Effect.fail(unknown(id)) : Effect.succeed({ task: viewOf(task) }))),
    cancel: ({ params: { id } }) => Effect.gen(function*() {
      const task = yield* Effect.catchTag((yield* desk).cancel(id), "AlreadyEnded", () => Effect.fail(Refusal.conflict("The task has ended already", { code: "task_ended" })))
      return task === null ? yield* Effect.fail(unknown(id)) : { task: viewOf(task) }
    })
  })
}))
