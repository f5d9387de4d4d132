/** What a small request costs by tier: CPU and allocated bytes, of an instance with V8's profilers in it. */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import type { Harness } from "#bench/http/Harness.ts"
import { deadline, needsStart, type Outcome, type Scenario, type Sizes, warm } from "#bench/http/Scenario.ts"
import type { Probed } from "#bench/http/targets/Target.ts"
import { allocationSites, bytesByTier, type CpuTree, cpuByTier, type HeapTree, tiers, total } from "./tiers.ts"

const FILE_TIMEOUT_MS = 20_000
const SITES = 12

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null
const isCpuTree = (value: unknown): value is CpuTree => isObject(value) && "nodes" in value && Array.isArray(value.nodes)
const isHeap = (value: unknown): value is { readonly head: HeapTree } => isObject(value) && "head" in value && isObject(value.head)

/** The file that the probe writes, once it is whole. */
const written = async (file: string): Promise<unknown> => {
  for (let waited = 0; waited < FILE_TIMEOUT_MS; waited += 50) {
    await sleep(50)
    if (!existsSync(file)) continue
    try {
      return JSON.parse(readFileSync(file, "utf8"))
    } catch {
      // It is still being written.
    }
  }
  throw new Error(`${file} was not written`)
}

/** Load between two signals: the profile, the requests that the upstream met meanwhile, and the main thread's CPU. */
const profiled = async (harness: Harness, { file, running, signal }: Probed, sizes: Sizes, kind: "cpu" | "heap" | "kept") => {
  const path = `${file}.${kind}.json`
  rmSync(path, { force: true })
  const job = {
    kind: "closed", endpoint: running.endpoint, script: { kind: "json" }, concurrency: sizes.concurrency,
    warmupMs: 0, measureMs: sizes.measureMs, deadlineMs: deadline(sizes.measureMs)
  } as const
  signal()
  await sleep(100)
  const before = await harness.upstreamRequests()
  const result = await harness.submit<"closed">(job)
  const requests = (await harness.upstreamRequests()) - before
  signal()
  return { profile: await written(path), requests, mainUs: result.mainCpuNs / 1_000 / result.requests }
}

const measure = async (harness: Harness, probed: Probed, sizes: Sizes): Promise<Outcome> => {
  await warm(harness, probed.running)
  await probed.running.rest?.()
  const cpu = await profiled(harness, probed, sizes, "cpu")
  const heap = await profiled(harness, probed, sizes, "heap")
  const kept = await profiled(harness, probed, sizes, "kept")
  if (!isCpuTree(cpu.profile) || !isHeap(heap.profile) || !isHeap(kept.profile)) throw new Error("a profile has another shape")
  const micros = cpuByTier(cpu.profile)
  const bytes = bytesByTier(heap.profile.head)
  // A profile's own time is stretched by waiting for a core: its shares count, and the kernel's books say of what.
  const scale = cpu.mainUs / total(micros)
  return {
    values: Object.fromEntries([
      ["tiers.us", cpu.mainUs],
      ["tiers.bytes", total(bytes) / heap.requests],
      ["tiers.keptBytes", total(bytesByTier(kept.profile.head)) / kept.requests],
      ...tiers.flatMap((tier): ReadonlyArray<[string, number]> => [
        [`tiers.${tier}.us`, micros[tier] * scale],
        [`tiers.${tier}.bytes`, bytes[tier] / heap.requests]
      ])
    ]),
    notes: allocationSites(heap.profile.head).slice(0, SITES).map((site) => `${Math.round(site.bytes / heap.requests)} bytes: ${site.where}`)
  }
}

export const tierCosts: Scenario = {
  id: "tiers",
  title: (sizes) => `a small request by tier, ${sizes.concurrency} connections, on an instance with V8's profilers: shares of the main thread's CPU, and allocated bytes`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "gateway" ? needsStart(target) : "its tiers are not known",
  run: async (harness, running, sizes) => {
    const probed = await running.probed?.()
    if (probed === undefined) return { values: {}, notes: ["there is no probe for it: not measured"] }
    try {
      return await measure(harness, probed, sizes)
    } finally {
      await probed.running.stop()
    }
  }
}
