/** Cooldowns of connections and of models on them. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as ConnectionCooldown from "#actors/resilience/ConnectionCooldown.ts"
import { maxHintMs } from "#actors/resilience/retryHint.ts"

const oauth: ConnectionCooldown.CooldownRules = { transientBaseMs: 5_000, rateLimitBaseMs: 60_000, maxBackoffLevel: 8, useHints: true }
const apikey: ConnectionCooldown.CooldownRules = { transientBaseMs: 3_000, rateLimitBaseMs: 0, maxBackoffLevel: 5, useHints: true }

const rule = (status: number, message = "", network = false) => ConnectionCooldown.ruleOf({ status, message, network })
const fail = (state: ConnectionCooldown.State, status: number, now: number, settings = oauth, hintMs: number | null = null, message = "") => {
  const found = rule(status, message, status === 0)
  return found === null ? [0, state, []] as const : ConnectionCooldown.step(state, { _tag: "Failed", rule: found, hintMs, status }, settings, now)
}

describe("the rule of a failure", () => {
  it("reads the text before the status", () => {
    assert.deepStrictEqual(rule(500, "The model is Overloaded"), { reason: "model_capacity", pause: "transient" })
    assert.deepStrictEqual(rule(403, "quota exceeded for this month"), { reason: "quota_exhausted", pause: "rate-limit" })
    assert.deepStrictEqual(rule(503, "Too Many Requests"), { reason: "rate_limit_exceeded", pause: "rate-limit" })
    assert.deepStrictEqual(rule(403, "Request not allowed"), { reason: "unknown", pause: "fixed", ms: 5_000 })
    assert.deepStrictEqual(rule(401, "no credentials"), { reason: "auth_error", pause: "fixed", ms: 120_000 })
    assert.deepStrictEqual(rule(500, "Improperly formed request"), { reason: "unknown", pause: "fixed", ms: 0 })
  })

  it("follows the status otherwise", () => {
    for (const status of [406, 408, 500, 502, 503, 504]) assert.deepStrictEqual(rule(status), { reason: "server_error", pause: "transient" }, String(status))
    assert.deepStrictEqual(rule(0, "", true), { reason: "server_error", pause: "transient" })
    assert.deepStrictEqual(rule(429), { reason: "rate_limit_exceeded", pause: "rate-limit" })
    assert.deepStrictEqual(rule(402), { reason: "quota_exhausted", pause: "fixed", ms: 0 })
    assert.deepStrictEqual(rule(520), { reason: "unknown", pause: "general" })
    assert.isNull(rule(409))
  })

  it("reads the beginning of a long text only", () => {
    const text = (blanks: number) => rule(503, `${" ".repeat(blanks)}overloaded`)?.reason
    assert.deepStrictEqual([text(1_990), text(1_991)], ["model_capacity", "server_error"])
  })

  it("reads nothing of a refusal that quotes the request", () => {
    for (const status of [400, 404, 413, 422]) assert.isNull(rule(status, "model 'rate limit, overloaded' is unknown, retry in 24h"), String(status))
  })
})

describe("a cooldown", () => {
  it("doubles from its base up to the highest level", () => {
    let state = ConnectionCooldown.idle
    let now = 0
    const pauses = []
    for (let i = 0; i < 11; i++) {
      const [pause, next] = fail(state, 503, now)
      pauses.push(pause / 5_000)
      state = next
      now = next.until
    }
    assert.deepStrictEqual(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 256])
    assert.strictEqual(state.level, 8)
  })

  it("is not restarted by the rest of a burst, and a longer hint extends it", () => {
    const [, first] = fail(ConnectionCooldown.idle, 503, 0)
    assert.strictEqual(fail(first, 503, 4_999)[1], first)
    const [pause, longer, intents] = fail(first, 429, 1_000, oauth, 90_000)
    assert.deepStrictEqual([pause, longer.until, longer.level, intents], [90_000, 91_000, 1, ["save"]])
    assert.strictEqual(fail(longer, 429, 2_000, oauth, 1_000)[1], longer)
  })

  it("a rate limit of a key without a hint pauses nothing; a hint does, at most 24 h", () => {
    assert.strictEqual(fail(ConnectionCooldown.idle, 429, 0, apikey)[1], ConnectionCooldown.idle)
    assert.strictEqual(fail(ConnectionCooldown.idle, 429, 0, apikey, 2_000)[1].until, 2_000)
    assert.strictEqual(fail(ConnectionCooldown.idle, 429, 0, apikey, 99 * maxHintMs)[1].until, maxHintMs)
    assert.strictEqual(fail(ConnectionCooldown.idle, 429, 0, { ...apikey, useHints: false }, 2_000)[1], ConnectionCooldown.idle)
  })

  it("a success ends what is over and leaves what runs", () => {
    const [, cooling] = fail(ConnectionCooldown.idle, 503, 0)
    assert.strictEqual(ConnectionCooldown.step(cooling, { _tag: "Succeeded", letIn: false }, oauth, 4_999)[1], cooling)
    const [, state, intents] = ConnectionCooldown.step(cooling, { _tag: "Succeeded", letIn: false }, oauth, 5_000)
    assert.deepStrictEqual([state, intents], [ConnectionCooldown.idle, ["save"]])
    assert.deepStrictEqual(ConnectionCooldown.step(ConnectionCooldown.idle, { _tag: "Succeeded", letIn: false }, oauth, 5_000)[2], [])
  })

  it("a success of a call that was let in while it ran ends a guess, never the upstream's word", () => {
    const inside = { _tag: "Succeeded", letIn: true } as const
    const [, guess] = fail(ConnectionCooldown.idle, 503, 0)
    assert.strictEqual(ConnectionCooldown.step(guess, inside, oauth, 1)[1], ConnectionCooldown.idle)
    const [, word] = fail(ConnectionCooldown.idle, 503, 0, oauth, 1_000)
    assert.strictEqual(ConnectionCooldown.step(word, inside, oauth, 1)[1], word)
  })

  it("is the connection's as a whole for sign-ins, quotas and limits of the account, else its model's", () => {
    const wide = (status: number, message = "", accountWide = false) => {
      const found = rule(status, message)
      return found !== null && ConnectionCooldown.isWide(found, { accountWide })
    }
    assert.deepStrictEqual([wide(403, "quota exceeded"), wide(401, "no credentials"), wide(429, "", true)], [true, true, true])
    assert.deepStrictEqual([500, 503, 429, 529].map((status) => wide(status)), [false, false, false, false])
    assert.isFalse(wide(503, "overloaded"))
  })

  it("is the upstream's word with a hint and our guess without", () => {
    assert.isTrue(fail(ConnectionCooldown.idle, 503, 0)[1].guessed)
    assert.isFalse(fail(ConnectionCooldown.idle, 503, 0, oauth, 1_000)[1].guessed)
  })

  it("of a failure that nobody knows doubles from a second to two minutes, unless server errors pause nothing", () => {
    let state = ConnectionCooldown.idle
    const seconds = Array.from({ length: 17 }, () => {
      const [pause, next] = fail(state, 520, state.until)
      state = next
      return pause / 1_000
    })
    assert.deepStrictEqual([seconds, state.level], [[1, 2, 4, 8, 16, 32, 64, ...Array<number>(10).fill(120)], 15])
    assert.deepStrictEqual(fail(ConnectionCooldown.idle, 520, 0, { ...oauth, transientBaseMs: 0 }), [0, ConnectionCooldown.idle, []])
  })

  it("of its own length has that length whatever is hinted, does not grow, and makes a running one longer only when it is exact", () => {
    const at = (state: ConnectionCooldown.State, now: number, more: { readonly guessed?: true; readonly exact?: true }) =>
      ConnectionCooldown.step(state, { _tag: "Failed", rule: { reason: "auth_error", pause: "fixed", ms: 9_000, ...more }, hintMs: 50, status: 401 }, oauth, now)
    const word = { until: 9_000, level: 0, reason: "auth_error", status: 401, guessed: false } as const
    assert.deepStrictEqual(at(ConnectionCooldown.idle, 0, {}), [9_000, word, ["save"]])
    assert.deepStrictEqual(at(ConnectionCooldown.idle, 0, { guessed: true })[1], { ...word, guessed: true })
    const [, running] = fail(ConnectionCooldown.idle, 503, 0)
    assert.deepStrictEqual(at(running, 1, {}), [0, running, []])
    assert.deepStrictEqual(at(running, 1, { exact: true }), [9_000, { ...word, until: 9_001, level: 1 }, ["save"]])
    assert.deepStrictEqual(at(running, 5_000, {})[1], { ...word, until: 14_000, level: 1 }, "at its end it runs no more")
    assert.strictEqual(at({ ...running, until: 9_001 }, 1, { exact: true })[1].until, 9_001, "it is as long already")
  })

  it("grows with the next guess, not while it runs, and by nothing that the upstream says", () => {
    const [, first] = fail(ConnectionCooldown.idle, 503, 0)
    assert.deepStrictEqual([first.level, first.guessed, first.until], [1, true, 5_000])
    assert.deepStrictEqual(fail(first, 429, 5_000, oauth, 1_000)[1], { until: 6_000, level: 1, reason: "rate_limit_exceeded", status: 429, guessed: false })
    assert.deepStrictEqual([-1, 0].map((hint) => fail(first, 429, 5_000, oauth, hint)[1]), [first, first], "a hint of nothing pauses nothing")
    assert.strictEqual(fail(first, 429, 5_000, oauth, 1)[1].until, 5_001)
    assert.strictEqual(fail(first, 503, 5_000)[1].until, 15_000)
    const unusual: ConnectionCooldown.State = { ...first, level: 12 }
    assert.strictEqual(fail(unusual, 503, 5_000)[1].level, 12, "the level of unusual failures is higher than the others may become")
  })

  it("of another node is taken over, unless a longer one runs; its end is heard once it is over", () => {
    const heard = { until: 8_000, level: 3, reason: "server_error", status: 503, guessed: true } as const
    const hear = (state: ConnectionCooldown.State, now: number) => ConnectionCooldown.step(state, { _tag: "Heard", ...heard }, oauth, now)
    assert.deepStrictEqual(hear(ConnectionCooldown.idle, 1_000), [7_000, heard, []])
    const own: ConnectionCooldown.State = { ...heard, until: 8_000, level: 1 }
    assert.deepStrictEqual(hear(own, 1_000), [0, own, []])
    assert.deepStrictEqual(hear({ ...own, until: 7_999 }, 1_000), [7_000, heard, []])
    assert.deepStrictEqual(hear({ ...own, until: 1_000 }, 1_000), [7_000, heard, []])
    const well = (now: number) => ConnectionCooldown.step(own, { _tag: "HeardWell" }, oauth, now)
    assert.deepStrictEqual([well(7_999), well(8_000)], [[0, own, []], [0, ConnectionCooldown.idle, []]])
  })

  it("is what the stored record says when that was changed", () => {
    const [, running] = fail(ConnectionCooldown.idle, 503, 0)
    const tell = (until: number, level: number) => ConnectionCooldown.step(running, { _tag: "Told", until, level }, oauth, 1)
    assert.deepStrictEqual([tell(0, 0), tell(70, 0), tell(0, 2)], [[0, ConnectionCooldown.idle, []], [0, { ...ConnectionCooldown.idle, until: 70 }, []], [0, { ...ConnectionCooldown.idle, level: 2 }, []]])
  })

  it("a success ends what is remembered of a level alone", () => {
    const level: ConnectionCooldown.State = { ...ConnectionCooldown.idle, level: 2 }
    assert.deepStrictEqual(ConnectionCooldown.step(level, { _tag: "Succeeded", letIn: false }, oauth, 1), [0, ConnectionCooldown.idle, ["save"]])
    assert.deepStrictEqual(ConnectionCooldown.step({ ...level, level: 0, until: 1 }, { _tag: "Succeeded", letIn: false }, oauth, 1)[2], ["save"])
  })

  const Act = Schema.Struct({
    wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 })),
    status: Schema.Literals([0, 200, 400, 401, 403, 404, 408, 429, 500, 503, 529]),
    hintMs: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: -5, maximum: 2 * maxHintMs })))
  })
  it.prop("of any history never gets shorter, always ends, and is written only when it changes", {
    acts: Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(60)))
  }, ({ acts }) => {
    let now = 0
    let state = ConnectionCooldown.idle
    for (const { hintMs, status, wait } of acts) {
      now += wait
      const before = state
      const [, next, intents] = status === 200 ? ConnectionCooldown.step(state, { _tag: "Succeeded", letIn: false }, oauth, now) : fail(state, status, now, oauth, hintMs)
      state = next
      if (now < before.until) assert.isAtLeast(state.until, before.until)
      assert.isAtMost(state.until, Math.max(before.until, now + maxHintMs))
      assert.isAtMost(state.level, 15)
      assert.strictEqual(intents.length > 0, state !== before)
      if (status === 200 && now >= before.until) assert.strictEqual(state, ConnectionCooldown.idle)
      if (status === 400 || status === 404) assert.strictEqual(state, before)
    }
  }, { arbitrary: { size: 60 } })

  const Bounds = Schema.Struct({ minMs: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 })), more: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 82_800_000 })) })
  it.prop("with a longest pause doubles up to exactly that", { bounds: Arbitrary.schema(Bounds) }, ({ bounds: { minMs, more } }) => {
    const rules = { transientBaseMs: minMs, rateLimitBaseMs: 0, maxBackoffLevel: 32, useHints: false, longestMs: minMs + more }
    let state = ConnectionCooldown.idle
    for (let failures = 0; failures < 40; failures++) {
      const [pause, next] = fail(state, 503, state.until, rules, 90_000)
      assert.strictEqual(pause, Math.min(minMs * 2 ** failures, rules.longestMs))
      state = next
    }
  })
})
