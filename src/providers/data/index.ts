/** Every data file of the registry. JSON, because it loads about ten times faster than stripped TypeScript. */
import type { Provider } from "#schemas/Provider.ts"
import clouds from "./clouds.json" with { type: "json" }
import frontier from "./frontier.json" with { type: "json" }
import hosts from "./hosts.json" with { type: "json" }
import labs from "./labs.json" with { type: "json" }
import local from "./local.json" with { type: "json" }
import retrieval from "./retrieval.json" with { type: "json" }
import simulator from "./simulator.json" with { type: "json" }

const files: ReadonlyArray<ReadonlyArray<unknown>> = [frontier, clouds, labs, hosts, local, retrieval, simulator]

/** In listing order. The shape is proved by test/providers/registry.test.ts, not at start. */
export const rows = files.flat() as ReadonlyArray<Provider>
