/** The shared store over a real Redis: what it answers, and what a caller pays when the server is refused, frozen, flushed or replaced. */
import * as Fs from "node:fs/promises"
import * as Net from "node:net"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterEach, describe, expect, it } from "vitest"
import { StoreDeadline } from "#actors/ports/StoreDeadline.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import { RedisStore, type RedisScript, SharedStoreDown } from "#src/platform/redis/RedisStore.ts"
import { OPENS_AFTER } from "#src/platform/redis/StoreBreaker.ts"
import { roadTo } from "#test/support/faults.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis, freePort, type OwnRedis, ownRedis, silentRoad } from "#test/support/redis.ts"

const echo: RedisScript = {
  name: "echo",
  purpose: "bytes were stored",
  lua: `-- KEYS[1]: a key; ARGV[1]: bytes. Stores the bytes and replies {key, bytes, 7, nil}.
redis.call('SET', KEYS[1], ARGV[1])
return {KEYS[1], redis.call('GET', KEYS[1]), 7, false}`
}

const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const server = async (options: { readonly password?: string } = {}): Promise<OwnRedis> => {
  const redis = await ownRedis(options)
  closers.push(redis.stop)
  return redis
}

const open = async (url: string, logger: Layer.Layer<never> = Layer.empty): Promise<RedisStore["Service"]> => {
  const scope = Scope.makeUnsafe()
  closers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const context = await Effect.runPromise(Layer.buildWithScope(Layer.provide(IoRedisStore.layer({ url: Redacted.make(url), prefix: "t:" }), logger), scope))
  return Context.get(context, RedisStore)
}

const get = (store: RedisStore["Service"], key = "t:k") => Effect.runPromise(Effect.result(store.command("GET", [key])))
const failureOf = async (store: RedisStore["Service"]): Promise<SharedStoreDown> => {
  const result = await get(store)
  if (result._tag !== "Failure") throw new Error("the store answered")
  return result.failure
}
const answers = (store: RedisStore["Service"]) =>
  eventually(() => get(store), (result) => result._tag === "Success", "an answer of the store", 5_000)

/** Every script of the sources, by its name and purpose; its work does not matter here. */
const scriptsOfSources = async (): Promise<ReadonlyArray<{ readonly name: string; readonly purpose: string }>> => {
  const directory = new URL("../../src/", import.meta.url)
  const files = (await Fs.readdir(directory, { recursive: true })).filter((file) => file.endsWith(".ts"))
  const sources = (await Promise.all(files.map((file) => Fs.readFile(new URL(file, directory), "utf8")))).join("\n")
  const found = [...sources.matchAll(/: RedisScript = \{\s+name: "([^"]+)",(?:\s+purpose: "([^"]+)",)?/g)]
  expect(found.length).toBe(sources.split(/^ {2}lua: `/m).length - 1)
  expect(found.length).toBeGreaterThan(20)
  return found.map(([, name = "", purpose = ""]) => ({ name, purpose }))
}

/** The time of one call, ms. */
const timed = async <A>(call: () => Promise<A>): Promise<readonly [A, number]> => {
  const began = performance.now()
  return [await call(), performance.now() - began]
}

describe.skipIf(!canStartRedis())("the shared store on Redis", () => {
  it("runs scripts and commands, with the prefix before keys, and keeps every byte", async () => {
    const redis = await server()
    const store = await open(redis.url)
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    for (let i = 0; i < 2; i++) {
      const reply = await Effect.runPromise(store.run(echo, ["k"], [bytes])) as ReadonlyArray<unknown>
      expect(reply).toEqual([Buffer.from("t:k"), Buffer.from(bytes), 7, null])
    }
    expect(await Effect.runPromise(store.command("GET", ["t:k"]))).toEqual(Buffer.from(bytes))
    expect(await Effect.runPromise(store.command("INCRBY", ["t:n", 5]))).toBe(5)
    expect(store.state()).toBe("closed")
  })

  it("loads a script again after SCRIPT FLUSH and after a restart", async () => {
    const redis = await server()
    const store = await open(redis.url)
    const bytes = new TextEncoder().encode("v")
    await Effect.runPromise(store.run(echo, ["k"], [bytes]))
    await redis.client().script("FLUSH")
    await Effect.runPromise(store.run(echo, ["k"], [bytes]))
    await redis.kill()
    await redis.start()
    await answers(store)
    expect(await Effect.runPromise(store.run(echo, ["k"], [bytes]))).toEqual([Buffer.from("t:k"), Buffer.from("v"), 7, null])
  })

  it("tells an answer that is an error from a server that is away: the breaker stays closed", async () => {
    const redis = await server()
    const store = await open(redis.url)
    await Effect.runPromise(store.command("LPUSH", ["t:k", "x"]))
    for (let i = 0; i < OPENS_AFTER + 2; i++) {
      const down = await failureOf(store)
      expect(down.reason).toBe("failed")
      expect(down.message).toContain("WRONGTYPE")
    }
    expect(store.state()).toBe("closed")
  })

  it("says in words what the gateway was doing when a script failed, and names no script", async () => {
    const redis = await server()
    const store = await open(redis.url)
    await answers(store)
    const scripts = await scriptsOfSources()
    const names = scripts.map(({ name }) => name)
    const purposes = scripts.map(({ purpose }) => purpose)
    expect(scripts.filter(({ purpose }) => purpose === "")).toEqual([])
    expect(new Set(purposes).size).toBe(purposes.length)
    const messages = (lua: string) => Effect.runPromise(Effect.forEach(
      scripts, (script) => Effect.map(Effect.flip(store.run({ ...script, lua }, [], [])), ({ message }) => message), { concurrency: "unbounded" }
    ))
    const broken = await messages("return redis.error_reply('ERR broken')")
    for (const [i, message] of broken.entries()) expect(message).toMatch(new RegExp(`^Redis refused a command while ${purposes[i]}: ERR broken`))
    redis.freeze()
    const late = await messages("return 1")
    expect(late).toEqual(purposes.map((purpose) => `Redis did not answer within 50 ms while ${purpose}. Check REDIS_URL and the server.`))
    await redis.kill()
    for (const message of [...broken, ...late, ...await messages("return 1")]) expect(names.filter((name) => message.includes(name))).toEqual([])
  })

  it("starts without a server, refuses at once, and finds the server when it comes", async () => {
    const redis = await server()
    await redis.kill()
    const store = await open(redis.url)
    for (let i = 0; i < OPENS_AFTER; i++) {
      const [down, took] = await timed(() => failureOf(store))
      expect(down.reason).toBe("refused")
      expect(took).toBeLessThan(40)
    }
    expect((await failureOf(store)).reason).toBe("breaker-open")
    await redis.start()
    await answers(store)
    expect(store.state()).toBe("closed")
  })

  it("costs a few deadlines when the server freezes and then nothing, and comes back when it thaws", async () => {
    const redis = await server()
    const store = await open(redis.url)
    await answers(store)
    redis.freeze()
    for (let i = 0; i < OPENS_AFTER; i++) {
      const [down, took] = await timed(() => failureOf(store))
      expect(down.reason).toBe("deadline")
      expect(took).toBeGreaterThan(45)
    }
    for (let i = 0; i < 20; i++) {
      const [down, took] = await timed(() => failureOf(store))
      expect(down.reason).toBe("breaker-open")
      expect(took).toBeLessThan(40)
    }
    redis.thaw()
    await answers(store)
  })

  it("comes back over a fresh connection when the old one stays silent", async () => {
    const redis = await server()
    const road = await silentRoad(redis.url)
    closers.push(road.close)
    const store = await open(road.url)
    await answers(store)
    road.silence()
    for (let i = 0; i < OPENS_AFTER; i++) expect((await failureOf(store)).reason).toBe("deadline")
    await eventually(() => get(store), (result) => result._tag === "Success", "an answer over another connection", 10_000)
  })

  it("follows a failover: a connection to what is a replica now is replaced", async () => {
    const [first, second] = [await server(), await server()]
    const road = await silentRoad(first.url)
    closers.push(road.close)
    const store = await open(road.url)
    const write = () => Effect.runPromise(Effect.result(store.run(echo, ["k"], ["bytes"])))
    expect((await write())._tag).toBe("Success")
    const heard: Array<string> = []
    const scope = Scope.makeUnsafe()
    closers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    await Effect.runPromise(store.subscribe("c", { message: (text) => heard.push(text), gap: () => undefined }).pipe(Scope.provide(scope)))

    road.lead(second.url)
    await first.client().call("REPLICAOF", "127.0.0.1", String(await freePort()))
    const refused = await write()
    expect(refused._tag === "Failure" ? refused.failure.message : "").toContain("READONLY")
    await eventually(write, (result) => result._tag === "Success", "a write on the new primary", 5_000)
    expect(await second.client().get("t:k")).toBe("bytes")
    await eventually(async () => {
      await second.client().publish("t:c", "there")
      return heard
    }, (texts) => texts.includes("there"), "a message of the new primary", 5_000)
  })

  it("comes back after probes that were answered too late for requests", async () => {
    const redis = await server()
    const road = await roadTo(redis.url)
    closers.push(road.close)
    const store = await open(road.url)
    await answers(store)
    // More than a request waits, and less than a probe.
    await road.is({ slowMs: 40 })
    for (let i = 0; i < OPENS_AFTER; i++) expect((await failureOf(store)).reason).toBe("deadline")
    const state = (wanted: string) => eventually(() => Promise.resolve(store.state()), (seen) => seen === wanted, `the breaker ${wanted}`, 5_000)
    await state("half-open")
    await state("open")
    await road.is("open")
    await answers(store)
    expect(store.state()).toBe("closed")
  })

  it("ignores the late reply of a call that was given up: the next call gets its own", async () => {
    const redis = await server()
    const store = await open(redis.url)
    await Effect.runPromise(store.command("SET", ["t:k", "first"]))
    const late = Effect.runPromise(Effect.result(store.command("EVAL", ["local t = redis.call('TIME'); local e = t[1] * 1000 + t[2] / 1000 + 120; repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > e; return 'late'", 0])))
    expect((await late)._tag).toBe("Failure")
    expect(await Effect.runPromise(Effect.provideService(store.command("GET", ["t:k"]), StoreDeadline, 5_000))).toEqual(Buffer.from("first"))
  })

  it("does not count a deadline when its own loop was too busy to read the reply", async () => {
    const redis = await server()
    const store = await open(redis.url)
    const reply = Effect.runPromise(Effect.result(store.command("ECHO", ["here"])))
    await new Promise((resolve) => setImmediate(resolve))
    const until = performance.now() + 120
    while (performance.now() < until);
    expect(await reply).toMatchObject({ _tag: "Success" })
  })

  it("says what a server wants that lets nobody in, and that another program listens there", async () => {
    const guarded = await server({ password: "right" })
    const other = Net.createServer((socket) => socket.once("data", () => socket.destroy()))
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    closers.push(() => new Promise((resolve) => other.close(resolve)))
    for (const [url, why] of [
      [guarded.url.replace("right", "wrong"), "the server refuses the user or password of REDIS_URL: WRONGPASS"],
      [guarded.url.replace(":right@", ""), "the server wants a password, and REDIS_URL has none: NOAUTH"],
      [`redis://127.0.0.1:${(other.address() as Net.AddressInfo).port}`, "the server closed the connection; is it a Redis?"]
    ] as const) {
      const lines: Array<string> = []
      const heard = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const store = await open(url, heard)
      expect(lines).toEqual([`Redis cannot be used (${why}); the gateway starts without it and keeps trying. Check REDIS_URL and the server.`])
      expect((await failureOf(store)).message).toContain(why)
    }
  })

  it("never shows the password, neither in a refusal nor in an unreachable server's error", async () => {
    const password = "canary_Hv71qPz0RedisPassword"
    const redis = await server({ password })
    const good = await open(redis.url)
    await answers(good)
    const wrong = await open(redis.url.replace(password, `${password}x`))
    const nobody = await open(`redis://:${password}@127.0.0.1:${await freePort()}`)
    for (const store of [wrong, nobody]) {
      for (let i = 0; i < OPENS_AFTER + 1; i++) expect(JSON.stringify(await failureOf(store))).not.toContain(password)
    }
  })
})

describe.skipIf(!canStartRedis())("channels of the shared store", () => {
  const listen = async (store: RedisStore["Service"], channel: string) => {
    const scope = Scope.makeUnsafe()
    closers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const heard: Array<string> = []
    let gaps = 0
    await Effect.runPromise(Scope.provide(store.subscribe(channel, {
      message: (text) => heard.push(text),
      gap: () => {
        gaps++
      }
    }), scope))
    return { heard, gaps: () => gaps, stop: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
  }

  it("carry messages to every listener until it leaves, and to nobody else", async () => {
    const redis = await server()
    const store = await open(redis.url)
    const other = await open(redis.url)
    const [one, two, apart] = [await listen(store, "news"), await listen(store, "news"), await listen(store, "apart")]
    await Effect.runPromise(other.publish("news", "a ü 1"))
    await eventually(async () => [one.heard, two.heard], (seen) => seen.every((list) => list.length === 1), "the message")
    await one.stop()
    await Effect.runPromise(other.publish("news", "2"))
    await eventually(async () => two.heard, (list) => list.length === 2, "the second message")
    expect([one.heard, two.heard, apart.heard]).toEqual([["a ü 1"], ["a ü 1", "2"], []])
    expect(one.gaps() + two.gaps()).toBe(0)
  })

  it("are heard again after the server was replaced, and the gap is told once they are", async () => {
    const redis = await server()
    const store = await open(redis.url)
    const news = await listen(store, "news")
    await redis.kill()
    await redis.start()
    await eventually(async () => news.gaps(), (gaps) => gaps === 1, "the gap")
    await redis.client().publish("t:news", "after")
    await eventually(async () => news.heard, (list) => list.includes("after"), "the message after the gap")
  })

  it("are heard, with a gap, when the server comes only after the subscription", async () => {
    const redis = await server()
    await redis.kill()
    const store = await open(redis.url)
    const news = await listen(store, "news")
    await redis.start()
    await eventually(async () => news.gaps(), (gaps) => gaps === 1, "the gap")
    await redis.client().publish("t:news", "hello")
    await eventually(async () => news.heard, (list) => list.includes("hello"), "the message")
  })

  it("are heard over another connection when the old one went silent", async () => {
    const redis = await server()
    const road = await silentRoad(redis.url)
    closers.push(road.close)
    const news = await listen(await open(road.url), "news")
    road.silence()
    await eventually(async () => news.gaps(), (gaps) => gaps >= 1, "the gap", 10_000)
    await redis.client().publish("t:news", "hello")
    await eventually(async () => news.heard, (list) => list.includes("hello"), "the message")
  })
})
