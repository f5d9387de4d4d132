import { describe, expect, it } from "vitest"
import * as Base64 from "#src/wire/json/base64.ts"

const text = Buffer.alloc(150_000, "any bytes \u00ff").toString("base64")

describe("base64 that is surely base64", () => {
  it("padded, not padded, in either alphabet, around the length of a piece", () => {
    for (const length of [1_024, 65_532, 65_534, 65_535, 65_536, 65_538, 131_072, 131_075, 200_000]) expect(Base64.isSurely(text.slice(0, length)), String(length)).toBe(true)
    expect(Base64.isSurely(`${text.slice(0, 2_046)}==`)).toBe(true)
    expect(Base64.isSurely(`${text.slice(0, 2_047)}=`)).toBe(true)
    expect(Base64.isSurelyStandard(text)).toBe(true)
    const url = `-_${text.slice(2)}`
    expect(Base64.isSurely(url)).toBe(true)
    expect(Base64.isSurelyStandard(url)).toBe(false)
  })

  it("any other character anywhere makes it doubtful", () => {
    for (const other of [" ", "\n", "!", "\"", "\\", "=", "\u0000", "\u00e9", "\u0141", "\ud83d"]) {
      for (const at of [0, 1, 2, 3, 1_500, 65_535, 65_536, 131_071, 131_072, 139_997, 139_998]) {
        const wrong = text.slice(0, at) + other + text.slice(at + 1, 140_000)
        expect(Base64.isSurely(wrong), `${JSON.stringify(other)} at ${at}`).toBe(false)
      }
    }
  })

  it("short texts and lone last characters are left to the regular expressions", () => {
    expect(Base64.isSurely("AAAA")).toBe(false)
    expect(Base64.isSurely(text.slice(0, 2_049))).toBe(false)
    expect(Base64.isSurely("")).toBe(false)
  })
})
