/** Whole outputs that are kept: their shorter forms name them, are shorter all the same, and stay as they are. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { compressionDefaults, type RtkConfig } from "#schemas/words/Compression.ts"
import * as Compress from "#src/compression/compress.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Identity from "#src/inference/lane/bodies/identity.ts"
import * as Plan from "#src/compression/plan.ts"
import type * as Raw from "#src/compression/rtk/raw.ts"

const planOf = (change: Partial<RtkConfig>): Plan.Plan => Plan.ofEngine("rtk", { ...compressionDefaults, rtkConfig: { ...compressionDefaults.rtkConfig, maxLinesPerResult: 10, ...change } }) as Plan.Plan
const always = planOf({ rawOutputRetention: "always" })
const of = (plan: Plan.Plan, ...pieces: ReadonlyArray<Piece>) => Compress.ofPieces(plan, pieces, false, Compress.MOST_CHARACTERS, Identity.nameOf)
const piece = (text: string, command = "docker logs x"): Piece => ({ role: "tool", text, frozen: false, command, tool: "bash", turn: 0 })
const marker = /\n\[Whole output: ([\w-]{20})\]$/

const bits = ["request served", "request 1 served\nrequest 2 served", "the line of a log that is rather long, ".repeat(4), "", "\n\n", "  ", "ERROR: it broke", "https://x.org/a", "[... 5 lines left out]", "[Whole output: 01234567890123456789]", "\u001b[31mred\u001b[0m", "é😀", "```", "\uE000"]
const Output = Schema.Array(Schema.Union([Schema.Literals(bits as [string, ...Array<string>]), Schema.String.check(Schema.isMaxLength(6))])).check(Schema.isMaxLength(60))

describe("whole outputs", () => {
  it.prop("are named by shorter forms, which never grow and stay as they are", [Arbitrary.schema(Output)], ([parts]) => {
    const pieces = [piece(parts.join("\n"))]
    const [{ text: before }] = pieces as [Piece]
    const { savings: { raw }, texts: [after = ""] } = of(always, ...pieces)
    expect(after.length).toBeLessThanOrEqual(before.length)
    expect(raw.map(({ id }) => id)).toEqual(after === before ? [] : [marker.exec(after)?.[1]])
    if (after !== before) expect(raw[0]).toEqual({ id: raw[0]?.id, text: before, bytes: Buffer.byteLength(before), cut: false })
    const again = of(always, piece(after))
    expect([again.texts, again.savings.raw]).toEqual([[after], []])
  }, { arbitrary: { runs: 600 } })

  const long = Array.from({ length: 100 }, (_, i) => `request ${i} served é😀`).join("\n")
  it("have the same id in each turn, and another one for another text", () => {
    const idOf = (text: string) => of(always, piece(text)).savings.raw[0]?.id
    expect(idOf(long)).toMatch(/^[\w-]{20}$/)
    expect([idOf(long) === idOf(long), idOf(long) === idOf(`${long}\nx`)]).toEqual([true, false])
  })

  it("are named below the last line that is not empty", () => {
    const [after = ""] = of(always, piece(`${long}\n\n\n`)).texts
    expect(after).toMatch(/served é😀\n\[Whole output: [\w-]{20}\]$/)
    expect(of(always, piece(after)).texts).toEqual([after])
  })

  it("are kept up to their bytes, in whole characters", () => {
    for (let rawOutputMaxBytes = 1_024; rawOutputMaxBytes < 1_040; rawOutputMaxBytes++) {
      const [raw] = of(planOf({ rawOutputRetention: "always", rawOutputMaxBytes }), piece(long)).savings.raw as [Raw.RawOutput]
      expect([raw.cut, raw.bytes, long.startsWith(raw.text), rawOutputMaxBytes - Buffer.byteLength(raw.text) < 4]).toEqual([true, Buffer.byteLength(long), true, true])
    }
  })

  it.each([["never", false, false], ["failures", false, true], ["always", true, true]] as const)("are kept %s", (rawOutputRetention, plain, failed) => {
    const keeps = (text: string, plan = planOf({ rawOutputRetention })) => of(plan, piece(text)).savings.raw.length === 1
    expect([keeps(long), keeps(`${long}\nERROR: it broke`)]).toEqual([plain, failed])
    expect(keeps(long, Plan.withoutRaw(planOf({ rawOutputRetention })))).toBe(false)
  })

  it("are those of shortened outputs alone", () => {
    const { savings, texts } = of(always, piece(long, "cat a"), piece("On branch main\n  (use \"git add\" to)", "git status"), { ...piece(long), role: "user" }, { ...piece(long), frozen: true })
    expect(savings.raw).toEqual([])
    // The name of the whole would be longer than what is missing.
    expect(texts).toEqual([long, "On branch main\n  (use \"git add\" to)", long, long])
  })
})
