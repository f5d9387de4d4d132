/** When a backup on a schedule is due: once in each period of UTC. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as BackupTurns from "#src/features/backups/ports/backupTurns.ts"

const at = (text: string): number => Date.parse(`${text}Z`)
const made = (text: string): BackupTurns.Turn => ({ lastAt: at(text), claimedAt: null })
const frequencies = ["daily", "weekly", "monthly"] as const
const Times = Schema.Int.check(Schema.isBetween({ minimum: at("1971-01-01T00:00:00"), maximum: at("2200-01-01T00:00:00") }))

describe("a period", () => {
  it("is a day, a week from Monday or a month of UTC", () => {
    const shown = (frequency: typeof frequencies[number], time: string) => {
      const { next, start } = BackupTurns.periodOf(frequency, at(time))
      return [new Date(start).toISOString(), new Date(next).toISOString()]
    }
    assert.deepStrictEqual(shown("daily", "2028-02-28T23:59:59.999"), ["2028-02-28T00:00:00.000Z", "2028-02-29T00:00:00.000Z"])
    assert.deepStrictEqual(shown("weekly", "2026-11-29T12:00:00"), ["2026-11-23T00:00:00.000Z", "2026-11-30T00:00:00.000Z"])
    assert.deepStrictEqual(shown("weekly", "2026-11-30T00:00:00"), ["2026-11-30T00:00:00.000Z", "2026-12-07T00:00:00.000Z"])
    assert.deepStrictEqual(shown("monthly", "2026-12-31T12:00:00"), ["2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"])
  })

  it.prop("holds its time, and the next begins where it ends", [Schema.Literals(frequencies), Times], ([frequency, time]) => {
    const { next, start } = BackupTurns.periodOf(frequency, time)
    assert.isTrue(start <= time && time < next)
    assert.strictEqual(BackupTurns.periodOf(frequency, next).start, next)
    assert.strictEqual(BackupTurns.periodOf(frequency, start).start, start)
  }, { arbitrary: { runs: 200 } })
})

describe("a backup", () => {
  const due = (frequency: typeof frequencies[number], turn: BackupTurns.Turn, now: string) => BackupTurns.isDue(frequency, turn, at(now))

  it("is due before the first one, and once in each period", () => {
    assert.isTrue(due("monthly", BackupTurns.turnOf(undefined), "2026-11-29T12:00:00"))
    assert.isFalse(due("daily", made("2026-11-29T00:00:00"), "2026-11-29T23:59:59"))
    assert.isTrue(due("daily", made("2026-11-28T23:59:59"), "2026-11-29T00:00:00"))
    assert.isFalse(due("weekly", made("2026-11-23T00:00:01"), "2026-11-29T23:59:59"))
    assert.isTrue(due("weekly", made("2026-11-22T23:00:00"), "2026-11-23T00:00:00"))
    assert.isFalse(due("monthly", made("2026-11-01T00:00:00"), "2026-11-30T23:59:59"))
  })

  it("is not begun twice, and is taken over from a node that died", () => {
    const claimed: BackupTurns.Turn = { lastAt: null, claimedAt: at("2026-11-29T12:00:00") }
    assert.isFalse(due("daily", claimed, "2026-11-29T12:09:59"))
    assert.isTrue(due("daily", claimed, "2026-11-29T12:10:00"))
  })

  it("is due again when the clock was set back by more than clocks differ", () => {
    assert.isFalse(due("daily", made("2026-11-29T00:00:05"), "2026-11-28T23:59:30"))
    assert.isTrue(due("daily", made("2026-12-29T00:00:00"), "2026-11-29T12:00:00"))
    assert.isTrue(due("daily", { lastAt: null, claimedAt: at("2026-12-29T00:00:00") }, "2026-11-29T12:00:00"))
  })

  it("comes next at once when it is due, else at the begin of the next period", () => {
    const now = at("2026-11-29T12:00:00")
    assert.strictEqual(BackupTurns.nextAt("daily", made("2026-11-28T12:00:00"), now), now)
    assert.strictEqual(BackupTurns.nextAt("weekly", made("2026-11-28T12:00:00"), now), at("2026-11-30T00:00:00"))
  })

  it("is made on no schedule unless both switches say so", () => {
    const of = (auto: boolean, frequency: "never" | "daily") => BackupTurns.frequencyOf({ backup: { auto, frequency, keep: 1 } })
    assert.deepStrictEqual([of(false, "daily"), of(true, "never"), of(true, "daily")], [null, null, "daily"])
  })
})
