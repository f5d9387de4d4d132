import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Keys } from "#actors/ports/Keys.ts"
import { AccessTokenStore } from "#actors/ports/Stores.ts"
import type { TokenScope } from "#schemas/api/Access.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { TOKEN_PREFIX } from "#src/management/authentication/Callers.ts"
import { PasswordGate } from "#src/management/authentication/PasswordGate.ts"
import { TokensGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

const DAY_MS = 86_400_000
/** Characters of a token that lists show. */
const SHOWN = 14

interface Wanted {
  readonly name?: string
  readonly scope?: TokenScope
  readonly expiresInDays?: number
}

export const layer = HttpApiBuilder.group(Surface.make(TokensGroup), "tokens", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const gate = yield* PasswordGate
  const keys = yield* Keys
  const random = yield* SecureRandom.SecureRandom
  const store = yield* AccessTokenStore

  const mint = Effect.fn("Tokens.mint")(function*(wanted: Wanted) {
    const { caller } = yield* ManagementCall
    const now = yield* Clock.currentTimeMillis
    const token = TOKEN_PREFIX + Base64Url.encode(yield* random.randomBytes(32))
    const minted = {
      id: yield* random.uuidV4(),
      name: wanted.name ?? "command line",
      scope: wanted.scope ?? "admin",
      expiresAt: wanted.expiresInDays === undefined ? null : new Date(now + wanted.expiresInDays * DAY_MS).toISOString()
    }
    yield* store.insert({
      ...minted,
      tokenHash: keys.hash(token),
      tokenPrefix: token.slice(0, SHOWN),
      createdAt: new Date(now).toISOString(),
      lastUsedAt: null,
      byPassword: caller.kind === "token" ? caller.token.byPassword : caller.kind !== "key" && caller.kind !== "local"
    })
    yield* audit.note({ action: "cli.token.created", target: minted.id, resourceType: "access-token", details: { name: minted.name, scope: minted.scope } })
    return { ...minted, token }
  })

  return handlers.handleAll({
    connect: ({ payload: { password, ...wanted } }) => answer(gate.pass(password, {
      action: "cli.connect", open: mint(wanted), undo: ({ id }) => store.remove(id)
    })),
    whoami: () => Effect.map(ManagementCall, ({ caller }) => {
      switch (caller.kind) {
        case "token":
          return { authenticated: true, scope: caller.token.scope, name: caller.token.name }
        case "key":
          return { authenticated: true, scope: caller.admin ? "admin" as const : "write" as const, name: caller.key.name }
        case "open":
        case "anonymous":
          return { authenticated: false, scope: null, name: null }
        default:
          return { authenticated: true, scope: "admin" as const, name: caller.kind === "local" ? "local command line" : "dashboard" }
      }
    }),
    list: () => answer(Effect.map(store.list, (tokens) => ({ tokens }))),
    create: ({ payload }) => answer(mint({ ...payload, scope: payload.scope ?? "read" })),
    revoke: ({ params }) => answer(Effect.gen(function*() {
      if (!(yield* store.remove(params.id))) return yield* Effect.fail(Refusal.notFound("Access token not found"))
      yield* audit.note({ action: "cli.token.revoked", target: params.id, resourceType: "access-token" })
      return { message: "Access token revoked" }
    }))
  })
}))
