/** What a response in the background is made of, as its record keeps it: enough to ask for it again from another process. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { AdmittedCall } from "#src/inference/lane/stages/Stages.ts"
import * as Members from "#src/wire/json/members.ts"
import type { BackgroundResponse } from "#src/features/responses/ResponseStore.ts"

const BackgroundRequest = Schema.fromJsonString(Schema.Struct({
  /** The body without its input, which the record has beside it. JSON text. */
  body: Schema.String,
  /** Lower-case names and values of the headers that shape its route. */
  headers: Schema.Array(Schema.String),
  requestId: Schema.String,
  /** For the key's rules of addresses. */
  remoteAddress: Schema.String,
  previous: Schema.NullOr(Schema.String),
  conversation: Schema.NullOr(Schema.Struct({ id: Schema.String, known: Schema.Int }))
}))
export type BackgroundRequest = typeof BackgroundRequest.Type

/** Headers that shape where a request goes. Credentials are none of them. */
const kept = ["x-gateway-mode", "x-gateway-budget", "x-gateway-budget-fallback", "x-gateway-effort", "x-gateway-task", "x-gateway-no-cache", "x-session-id", "user-agent"]

const encode = Schema.encodeSync(BackgroundRequest)
const decode = Schema.decodeUnknownResult(BackgroundRequest)

/** JSON text. */
export const of = ({ asked, body, request, tags }: AdmittedCall): string => encode({
  body: Members.write([...Members.of(body) ?? []].filter(([name]) => name !== "input")).toString("utf8"),
  headers: kept.flatMap((name) => {
    const value = request.header(name)
    return value === undefined ? [] : [name, value]
  }),
  requestId: tags.requestId, remoteAddress: request.remoteAddress, previous: asked?.previous ?? null, conversation: asked?.conversation ?? null
})

/** Null where nothing is known that could be asked. */
export const read = ({ request }: Pick<BackgroundResponse, "request">): BackgroundRequest | null => {
  if (request === null) return null
  const read = decode(request)
  return Result.isSuccess(read) ? read.success : null
}

/** The body with its input. */
export const bodyOf = ({ body }: BackgroundRequest, { input }: Pick<BackgroundResponse, "input">): Buffer =>
  Members.write([...Members.of(Buffer.from(body)) ?? [], ["input", input]])
