/** One gateway keeps changes that are made at the same time. */
import { afterAll, beforeAll } from "vitest"
import { concurrentChanges } from "#test/suites/concurrentChanges.suite.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

concurrentChanges(() => ({ operators: [lab.gateway.operator], sim: lab.sim, node: lab.node, settled: () => Promise.resolve() }))
