import { expect, it } from "vitest"
import type { Harness } from "#bench/http/Harness.ts"
import { parseOptions } from "#bench/http/options.ts"
import { Runner } from "#bench/http/Runner.ts"
import type { Scenario } from "#bench/http/Scenario.ts"
import type { Target } from "#bench/http/targets/Target.ts"

const notAsked = (): Promise<never> => Promise.reject(new Error("not asked"))
const harness: Harness = { mockPort: 0, upstreamRequests: notAsked, translation: notAsked, instructions: notAsked, submit: notAsked }

const target = (name: string): Target => ({
  name, owned: true, translates: true,
  launch: () => Promise.resolve({
    endpoint: { host: "127.0.0.1", port: 0, basePath: "/v1", modelPrefix: "", apiKey: null, pid: null }, listeningMs: null, stop: () => Promise.resolve()
  })
})

const scenario: Scenario = {
  id: "any", title: () => "anything", direct: false, fresh: true, smokeRounds: 1, excludes: () => null,
  run: () => Promise.resolve({ values: { "request.cpuUs": 1 }, notes: [] })
}

const run = async (scenarios: ReadonlyArray<Scenario>) => {
  const lines: Array<string> = []
  const plan = { scenarios, targets: [target("gateway"), target("nginx")], subject: "gateway", direct: target("direct"), rounds: 3, sizes: parseOptions([])!.sizes }
  const { failures, measurements } = await new Runner(harness, plan, (line) => lines.push(line)).run()
  expect(failures).toEqual([])
  return { lines, rounds: measurements.map(({ round, target: name }) => `${round} ${name}`) }
}

it("targets take turns, and what no round changes is measured in one", async () => {
  expect((await run([scenario])).rounds).toEqual(["1 gateway", "1 nginx", "2 gateway", "2 nginx", "3 gateway", "3 nginx"])
  expect((await run([{ ...scenario, once: true }])).rounds).toEqual(["1 gateway", "1 nginx"])
})

it("says why the subject is left out, and nothing of the others", async () => {
  const { lines, rounds } = await run([{ ...scenario, excludes: ({ name }) => `${name} cannot` }])
  expect(rounds).toEqual([])
  expect(lines).toEqual(["any: anything", "  gateway is left out: gateway cannot"])
})
