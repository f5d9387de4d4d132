/** Instructions of the gateway's own code per request: a number that a busy host does not move, so that a guard of a few percent holds. */
import { programPath } from "#bench/http/servers/processes.ts"
import type { Scenario } from "#bench/http/Scenario.ts"

export const instructionCount: Scenario = {
  id: "instructions",
  title: () => "the gateway's own code in a process of its own, without sockets, counted by valgrind (`bench/micro/instructions.ts`)",
  direct: false,
  fresh: false,
  once: true,
  smokeRounds: 1,
  excludes: ({ name }) => name !== "gateway" ? "not the gateway of this checkout" : programPath("valgrind") === null ? "valgrind is not installed" : null,
  run: async (harness) => {
    const { perRequest, rounds } = await harness.instructions()
    return { values: { "instructions.request": perRequest }, notes: [`rounds of ${Math.min(...rounds).toFixed(0)} to ${Math.max(...rounds).toFixed(0)}`] }
  }
}
