/** What vendors' quota endpoints say, by the rows of the registry, and when they are asked. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Answers from "#src/features/quotas/polls/answers.ts"
import * as Due from "#src/features/quotas/polls/due.ts"
import * as Registry from "#src/providers/Registry.ts"
import { connection } from "#test/suites/records.ts"

/** A Wednesday. */
const now = Date.parse("2026-11-25T10:30:00Z")
const rowOf = (id: string) => {
  const quota = Registry.builtin.byId.get(id)?.quota
  if (quota === undefined) throw new Error(`${id} has no quota endpoint`)
  return quota
}
const read = (id: string, answer: unknown) => Answers.readingsOf(rowOf(id), answer, now, 3_600_000)
  .map(({ limit, name, remaining, remainingPercent, resetsAt }) => [name, remainingPercent, remaining, limit, resetsAt === null ? null : new Date(resetsAt).toISOString()])

const document = Arbitrary.schema(Schema.Json)
const times = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000_000 })))

describe("answers of quota endpoints", () => {
  it("OpenRouter: credits of a key with a limit, which may begin again; a key without a limit tells nothing", () => {
    const key = (limit: number | null, limit_remaining: number | null, limit_reset: string | null) => ({ data: { label: "sk-or-v1-au7...890", limit, limit_remaining, limit_reset, usage: 25.5 } })
    assert.deepStrictEqual(read("openrouter", key(100, 74.5, "monthly")), [["credits", 74.5, 74.5, 100, "2026-12-01T00:00:00.000Z"]])
    assert.deepStrictEqual(read("openrouter", key(5, 0, "daily")), [["credits", 0, 0, 5, "2026-11-26T00:00:00.000Z"]])
    assert.deepStrictEqual(read("openrouter", key(5, 5, "weekly")), [["credits", 100, 5, 5, "2026-11-30T00:00:00.000Z"]])
    assert.deepStrictEqual(read("openrouter", key(5, -0.2, null)), [["credits", 0, 0, 5, null]])
    assert.deepStrictEqual(read("openrouter", key(null, null, null)), [])
  })

  it("DeepSeek and Moonshot: a balance without a limit; one that may not be used is none", () => {
    const balance = (is_available: boolean, total_balance: string) =>
      ({ is_available, balance_infos: [{ currency: "CNY", total_balance, granted_balance: "10.00", topped_up_balance: "100.00" }] })
    assert.deepStrictEqual(read("deepseek", balance(true, "110.00")), [["balance", 100, 110, null, null]])
    assert.deepStrictEqual(read("deepseek", balance(false, "110.00")), [["balance", 0, 110, null, null]])
    assert.deepStrictEqual(read("deepseek", balance(true, "0.00")), [["balance", 0, 0, null, null]])
    assert.deepStrictEqual(read("moonshot", { code: 0, data: { available_balance: 49.58894, voucher_balance: 46.58893, cash_balance: 3.00001 }, scode: "0x0", status: true }), [["balance", 100, 49.58894, null, null]])
  })

  it("an aggregator: what a key may spend less what it has spent, in hundredths; nothing where one is not told", () => {
    const of = (subscription: unknown, usage: unknown) => {
      const reading = Answers.balanceOf(subscription, usage, now, 1)
      return reading === null ? null : [reading.name, reading.remainingPercent, reading.remaining, reading.limit, reading.resetsAt]
    }
    const subscription = (hard_limit_usd: unknown) => ({ object: "billing_subscription", has_payment_method: true, soft_limit_usd: 100, hard_limit_usd, system_hard_limit_usd: 100, access_until: 1_640_995_200 })
    assert.deepStrictEqual(of(subscription(100), { object: "list", total_usage: 2_500 }), ["balance", 75, 75, 100, null])
    assert.deepStrictEqual(of(subscription(1), { object: "list", total_usage: 250 }), ["balance", 0, 0, 1, null])
    for (const [one, other] of [[{ error: { message: "no" } }, { total_usage: 1 }], [subscription(1), { error: {} }], [subscription(null), { total_usage: 1 }], [null, []]]) assert.isNull(of(one, other))
  })

  it.prop("any JSON is read without a defect, and a share lies between 0 and 100", { document }, ({ document }) => {
    for (const { quota } of Registry.builtin.byId.values()) {
      if (quota === undefined) continue
      for (const { remaining, remainingPercent } of Answers.readingsOf(quota, { data: document, balance_infos: document, is_available: document }, now, 1)) {
        assert.isAtLeast(remainingPercent, 0)
        assert.isAtMost(remainingPercent, 100)
        assert.isAtLeast(remaining ?? -1, 0)
      }
    }
  })

  it.prop("a reset is the next midnight, Monday or first of a month", { times }, ({ times }) => {
    for (const [word, longest] of [["daily", 1], ["weekly", 7], ["monthly", 31]] as const) {
      const at = Answers.resetOf(word, times) ?? 0
      assert.isAbove(at, times)
      assert.isAtMost(at - times, longest * 86_400_000)
      assert.strictEqual(at % 86_400_000, 0)
      if (word === "weekly") assert.strictEqual(new Date(at).getUTCDay(), 1)
      if (word === "monthly") assert.strictEqual(new Date(at).getUTCDate(), 1)
    }
    assert.isNull(Answers.resetOf("yearly", times))
  })
})

describe("the schedule", () => {
  it("is off by default; its interval is 180 s unless it is set", () => {
    const of = (settings: Record<string, unknown>) => Due.intervalMs({ settings: new Map(Object.entries(settings)) as never })
    assert.isNull(of({}))
    assert.strictEqual(of({ autoRefreshProviderQuota: true }), 180_000)
    assert.strictEqual(of({ autoRefreshProviderQuota: true, autoRefreshProviderQuotaInterval: 10 }), 10_000)
  })

  it("a connection is read at once, and again after its part of the interval, also when a clock was set back", () => {
    const row = Registry.builtin.byId.get("openrouter")
    if (row === undefined) throw new Error("no row")
    const all = [{ connection: connection({ id: "c-1" }), row, quota: rowOf("openrouter") }]
    const due = (at: number) => Due.due(all, new Map([["c-1", { at: now, part: 0.9 }]]), 10_000, at).length
    assert.strictEqual(Due.due(all, new Map(), 10_000, now).length, 1)
    assert.deepStrictEqual([due(now), due(now + 8_999), due(now + 9_000), due(now - 1)], [0, 0, 1, 1])
  })
})
