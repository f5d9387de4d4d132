/** Every scenario of one client, for every family that it can reach. */
import { describe } from "vitest"
import { familiesFor, type Matrix } from "#test/support/families.ts"
import { conversations } from "./conversations.ts"
import type { Driver } from "./Driver.ts"
import { failures } from "./failures.ts"
import { limits } from "./limits.ts"
import { thinking } from "./thinking.ts"
import { toolLoops } from "./toolLoops.ts"

export const scenarios = (driver: Driver, matrix: () => Matrix): void => {
  describe.each(familiesFor(driver.face).map((family) => ({ family, name: family.name })))("towards $name", ({ family }) => {
    const one = { driver, family, matrix }
    describe("conversations", () => conversations(one))
    describe("tools", () => toolLoops(one))
    describe("thinking", () => thinking(one))
    describe("limits", () => limits(one))
    describe("failures", () => failures(one))
  })
}
