/** Kinds of flags as the dashboard says them, without a browser. */
import { expect, it } from "vitest"
import { categoryWord } from "../../dashboard/format/flags.ts"

it("a kind that is an abbreviation has its capitals; the style gives one to the others", () => {
  expect([categoryWord("cli"), categoryWord("security")]).toEqual(["CLI", "security"])
})
