/** Sign-ins in progress: the contract of their stores, and two nodes on one Redis through which a sign-in passes. */
import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { afterAll } from "vitest"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import * as MemorySignInStore from "#src/features/oauth/MemorySignInStore.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisSignInStore from "#src/features/oauth/RedisSignInStore.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import { acme, environment, START } from "./support.ts"
import * as SignInStore from "#test/suites/SignInStore.suite.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

const redis = canStartRedis() ? await ownRedis() : null
afterAll(() => redis?.stop())

/** `deadlineMs`: a busy machine is no failure of Redis here. */
const onRedis = (prefix: string) => RedisSignInStore.layer.pipe(
  Layer.provide(IoRedisStore.layer({ url: Redacted.make(redis?.url ?? ""), prefix, deadlineMs: 2_000 }))
)
const freshPrefix = (): string => `t${randomBytes(4).toString("hex")}:`

SignInStore.suite("memory", MemorySignInStore.layer)
if (redis !== null) SignInStore.suite("Redis", onRedis(freshPrefix()))

/** Nodes with sessions of their own in front of one authorization server and one Redis. */
const nodes = Effect.fnUntraced(function*(count: number) {
  yield* TestClock.setTime(START)
  const server = yield* Effect.acquireRelease(Effect.promise(() => OAuthServer.start()), (one) => Effect.promise(one.close))
  server.clock = () => START / 1000
  const prefix = freshPrefix()
  const surfaces = yield* Effect.forEach(Array.from({ length: count }), () => Effect.gen(function*() {
    const made = yield* Management.make({
      environment, registry: Registry.make([acme(server), ...Registry.builtin.all]), upstream: HttpUpstream.layer({ keepAliveMs: 1 }), signIns: onRedis(prefix)
    })
    const cookie = yield* made.login()
    return {
      post: (path: string, body: unknown = {}) => made.ask(path, { method: "POST", cookie, body }),
      get: (path: string) => made.ask(path, { cookie }),
      store: Context.get(made.context, ConnectionStore)
    }
  }))
  const [one, two] = surfaces
  if (one === undefined || two === undefined) throw new Error("two nodes")
  return { server, prefix, one, two }
})

const codeOf = (reply: Management.Reply) => at(reply.json, "error", "code")
const back = (url: URL) => url.pathname + url.search

/** Everything that lies in Redis under a prefix, keys and values. */
const kept = (prefix: string) => Effect.promise(async () => {
  const client = redis?.client()
  const keys = await client?.keys(`${prefix}*`) ?? []
  const values = await Promise.all(keys.map((key) => client?.hgetall(key)))
  return JSON.stringify([keys, values])
})

describe.skipIf(redis === null)("a sign-in over two nodes", () => {
  it.effect("begins on one and is finished by the callback on the other, once; Redis never holds its secrets in clear", () => Effect.gen(function*() {
    const { one, prefix, server, two } = yield* nodes(2)
    const begun = yield* one.post("/api/oauth/acme/start", { name: "Mine" })
    const [state, url] = [String(at(begun.json, "state")), String(at(begun.json, "authorizeUrl"))]
    const found = yield* kept(prefix)
    assert.include(found, "v1.")
    const consented = back(server.consent(url))
    const replies = yield* Effect.all([two.get(consented), one.get(consented), two.get(consented)], { concurrency: "unbounded" })
    assert.deepStrictEqual(replies.map(({ status }) => status).sort(), [200, 400, 400])
    assert.lengthOf(server.forms, 1)
    const verifier = server.forms[0]?.["code_verifier"] ?? ""
    assert.isAbove(verifier.length, 40)
    for (const secret of [verifier, state, server.tokenUrl, "Mine"]) assert.notInclude(found, secret)
    assert.strictEqual((yield* kept(prefix)), "[[],[]]")
    assert.deepStrictEqual([...yield* one.store.list, ...yield* two.store.list].map(({ name }) => name), ["Mine"])
  }))

  it.effect("by device code is asked about on any node, and the vendor once per interval", () => Effect.gen(function*() {
    const { one, prefix, server, two } = yield* nodes(2)
    const begun = yield* one.post("/api/oauth/acme/start", { flow: "device-code" })
    const state = String(at(begun.json, "state"))
    assert.notInclude(yield* kept(prefix), "canary")
    const poll = (node: typeof one) => node.post("/api/oauth/acme/poll", { state })
    assert.deepInclude((yield* poll(two)).json, { status: "pending", intervalMs: 5_000 })
    assert.lengthOf(server.forms, 0)
    // The interval is Redis' own time: it is let pass in Redis.
    const pass = Effect.promise(async () => {
      const client = redis?.client()
      for (const key of await client?.keys(`${prefix}sign-in:*`) ?? []) await client?.hset(key, "turnAt", "0")
    })
    server.device.slowDown = true
    yield* pass
    assert.deepInclude((yield* poll(one)).json, { status: "pending", intervalMs: 10_000 })
    assert.deepInclude((yield* poll(two)).json, { status: "pending", intervalMs: 10_000 })
    assert.lengthOf(server.forms, 1)
    server.device.state = "approved"
    yield* pass
    const both = yield* Effect.all([poll(one), poll(two)], { concurrency: "unbounded" })
    assert.lengthOf(both.filter((reply) => at(reply.json, "status") === "complete"), 1)
    assert.lengthOf(server.forms, 2)
    assert.strictEqual(codeOf(yield* poll(two)), "oauth_state_invalid")
    assert.lengthOf([...yield* one.store.list, ...yield* two.store.list], 1)
  }))
})

describe.skipIf(redis === null)("a sign-in without its Redis", () => {
  it.effect("is refused with 503, begun or not, and goes on when the server is back", () => Effect.gen(function*() {
    const { one, server, two } = yield* nodes(2)
    const begun = yield* one.post("/api/oauth/acme/start")
    const consented = back(server.consent(String(at(begun.json, "authorizeUrl"))))
    const scope = yield* Scope.Scope
    yield* Scope.addFinalizer(scope, Effect.sync(() => redis?.thaw()))
    redis?.freeze()
    for (const reply of [yield* one.post("/api/oauth/acme/start"), yield* one.get("/api/oauth/acme/callback?code=x&state=never-given-never-given")]) {
      assert.deepStrictEqual([reply.status, codeOf(reply)], [503, "store_unavailable"])
      assert.notInclude(reply.text, "edis")
    }
    assert.lengthOf(server.forms, 0)
    redis?.thaw()
    const done = yield* Effect.promise(() => eventually(() => Effect.runPromise(two.get(consented)), ({ status }) => status !== 503, "an answer of Redis"))
    assert.strictEqual(done.status, 200)
  }), 180_000)
})
