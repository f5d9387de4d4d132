/** The command line of the bench. Everything is bounded: rounds, seconds, streams, bytes. */
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import type { Sizes } from "./Scenario.ts"
import { scenarios } from "./scenarios.ts"
import { parsePeer, type PeerOptions } from "./targets/peer.ts"

export type Profile = "smoke" | "quick" | "full"

export const knownPeers = ["portkey"] as const
export type KnownPeer = typeof knownPeers[number]

const isKnownPeer = (text: string): text is KnownPeer => (knownPeers as ReadonlyArray<string>).includes(text)

export interface Options {
  readonly profile: Profile
  readonly scenarios: ReadonlyArray<string>
  /** Null: every target that is available. */
  readonly targets: ReadonlyArray<string> | null
  readonly peers: ReadonlyArray<PeerOptions>
  /** Peers that the bench installs and starts itself. */
  readonly knownPeers: ReadonlyArray<KnownPeer>
  /** A checkout of the gateway that ratios are taken against; null: nginx. */
  readonly baseline: string | null
  /** Null in a smoke run: each scenario knows its own. */
  readonly rounds: number | null
  readonly sizes: Sizes
  readonly tickMs: number
  readonly mockPort: number
  readonly pin: boolean
  /** Where the gateway keeps records; auto: a Postgres server where one is installed. */
  readonly records: "auto" | "postgres" | "embedded"
  readonly cpuProfile: boolean
  /** Further flags for the targets on Node, to try what a V8 setting is worth. */
  readonly nodeFlags: ReadonlyArray<string>
  readonly json: boolean
  readonly report: boolean
}

export const usage = `npm run bench -- [options]

  --smoke               under a minute: everything works, contents are right, wide guards hold
  --full                five long rounds, 50 MB slow readers, the capacity search
  --scenario a,b        ${scenarios.map((each) => each.id).join(", ")}
  --targets a,b         gateway, nginx, haproxy, bare and the names of peers (default: all that are available)
  --rounds n            1 to 20
  --seconds s           length of one measured window, 0.5 to 60
  --peer name=url[,pid=n][,key=k][,prefix=p]
                        a proxy on loopback that already stands in front of the mock; repeatable
  --peer portkey        Portkey's open gateway, which is installed into bench/peers when it is first asked for
  --baseline folder     another checkout of the gateway, in turns with this one: ratios are taken against it, no budget is judged;
                        --baseline . --node-flag=--flag shows what a flag is worth
  --mock-port n         a fixed port of the mock, for peers
  --tick ms             timer of the mock: 2 spreads paced streams (default), the interval wakes them all at once
  --streams n           paced streams, 1 to 4000
  --cpu-prof            V8 profiles of the targets on Node, summarized; run it alone, it costs CPU
  --records kind        postgres, embedded, or auto: a Postgres server of the bench's own where one is installed
  --node-flag=--flag    a flag for the targets on Node but the baseline, such as --max-semi-space-size=64; repeatable
  --no-pin              do not pin processes to cores
  --no-report           write no report files
  --json                print the results as JSON on standard output
  --help
`

const base: Sizes = {
  measureMs: 3_000,
  warmupMs: 500,
  concurrency: 64,
  ratePerSecond: 1_000,
  streams: 500,
  intervalMs: 20,
  memoryStreams: 2_000,
  readers: 200,
  megabytes: 4,
  batchLines: 20_000
}

const profiles: Record<Profile, { readonly rounds: number | null; readonly sizes: Sizes; readonly scenarios: ReadonlyArray<string> }> = {
  smoke: {
    rounds: null,
    sizes: { ...base, measureMs: 800, warmupMs: 300, streams: 200, memoryStreams: 500, readers: 30, megabytes: 2, batchLines: 2_000 },
    scenarios: ["request", "paced", "burst", "translated", "latency", "slow", "start", "pairs"]
  },
  quick: {
    rounds: 3,
    sizes: base,
    scenarios: ["request", "tiers", "combo", "cluster", "paced", "burst", "translated", "latency", "memory", "slow", "upload", "speech", "embeddings", "start", "pairs"]
  },
  full: {
    rounds: 5,
    sizes: { ...base, measureMs: 8_000, warmupMs: 1_000, megabytes: 50, batchLines: 100_000 },
    scenarios: scenarios.map((each) => each.id)
  }
}

const bounded = (name: string, text: string | undefined, fallback: number, min: number, max: number): number => {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isFinite(value) || value < min || value > max) throw new Error(`--${name} ${text}: a number from ${min} to ${max} expected`)
  return value
}

const names = (text: string | undefined): ReadonlyArray<string> | null =>
  text === undefined ? null : text.split(",").map((name) => name.trim()).filter((name) => name !== "")

/** The options of a command line, or null when help was asked for. Throws with the option's name when it is wrong. */
export const parseOptions = (args: ReadonlyArray<string>): Options | null => {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      smoke: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      scenario: { type: "string" },
      targets: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      peer: { type: "string", multiple: true, default: [] },
      baseline: { type: "string" },
      "mock-port": { type: "string" },
      tick: { type: "string" },
      streams: { type: "string" },
      records: { type: "string", default: "auto" },
      "node-flag": { type: "string", multiple: true, default: [] },
      "cpu-prof": { type: "boolean", default: false },
      pin: { type: "boolean", default: true },
      report: { type: "boolean", default: true },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return null
  if (values.smoke && values.full) throw new Error("--smoke and --full exclude each other")
  const profile: Profile = values.smoke ? "smoke" : values.full ? "full" : "quick"
  const { rounds, sizes, scenarios: usual } = profiles[profile]
  const wanted = names(values.scenario) ?? usual
  const { records } = values
  if (records !== "auto" && records !== "postgres" && records !== "embedded") {
    throw new Error(`--records ${records}: auto, postgres or embedded expected`)
  }
  const known = scenarios.map((each) => each.id)
  for (const id of wanted) {
    if (!known.includes(id)) throw new Error(`--scenario ${id}: unknown; known: ${known.join(", ")}`)
  }
  return {
    profile,
    scenarios: known.filter((id) => wanted.includes(id)),
    targets: names(values.targets),
    peers: values.peer.filter((each) => !isKnownPeer(each)).map(parsePeer),
    knownPeers: [...new Set(values.peer.filter(isKnownPeer))],
    baseline: values.baseline === undefined ? null : resolve(values.baseline),
    rounds: values.rounds === undefined ? rounds : Math.round(bounded("rounds", values.rounds, 1, 1, 20)),
    sizes: {
      ...sizes,
      measureMs: bounded("seconds", values.seconds, sizes.measureMs / 1_000, 0.5, 60) * 1_000,
      streams: Math.round(bounded("streams", values.streams, sizes.streams, 1, 4_000))
    },
    tickMs: bounded("tick", values.tick, 2, 1, 1_000),
    mockPort: Math.round(bounded("mock-port", values["mock-port"], 0, 0, 65_535)),
    pin: values.pin,
    records,
    nodeFlags: values["node-flag"],
    cpuProfile: values["cpu-prof"],
    json: values.json,
    report: values.report && profile !== "smoke"
  }
}
