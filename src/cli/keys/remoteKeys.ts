/** The key desk of a running gateway, over HTTP on this machine. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Loaded } from "#src/cli/environment.ts"
import { failure } from "#src/cli/Failure.ts"
import * as LocalHttp from "#src/cli/LocalHttp.ts"
import type { KeyDesk } from "./KeyDesk.ts"

const Created = Schema.Struct({ id: Schema.String, name: Schema.String, key: Schema.String })
const Page = Schema.Struct({
  keys: Schema.Array(Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    key: Schema.String,
    scopes: Schema.Array(Schema.String),
    isActive: Schema.Boolean,
    expiresAt: Schema.NullOr(Schema.String),
    createdAt: Schema.String,
    lastUsedAt: Schema.NullOr(Schema.String)
  }))
})

const decoding = <A>(schema: Schema.Decoder<A>, what: string) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (body: unknown) => {
    const decoded = decode(body)
    return Result.isSuccess(decoded)
      ? Effect.succeed(decoded.success)
      : Effect.fail(failure(`The running gateway's answer to ${what} is of another version of the gateway; use its own command line.`))
  }
}

const created = decoding(Created, "POST /api/keys")
const page = decoding(Page, "GET /api/keys")

export const make = Effect.fnUntraced(function*(settings: Loaded, url: string) {
  const call = yield* LocalHttp.make(settings, url)
  const desk: KeyDesk = {
    create: (name, policy) => Effect.flatMap(call("POST", "/api/keys", { name, ...policy }), created),
    list: (limit, offset) => Effect.map(Effect.flatMap(call("GET", `/api/keys?limit=${limit}&offset=${offset}`), page), ({ keys }) => keys),
    remove: (id) => Effect.asVoid(call("DELETE", `/api/keys/${encodeURIComponent(id)}`))
  }
  return desk
})
