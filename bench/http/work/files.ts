/** What it costs to keep a file: the gateway stores, hashes and flushes the file of a form; nginx stores the body of a PUT. */
import { createHash } from "node:crypto"
import * as http from "node:http"
import { cpuNanoseconds, mainThreadNanoseconds, treeResidentKb } from "#bench/http/servers/ProcFs.ts"
import type { Scenario } from "#bench/http/Scenario.ts"
import { soundOf } from "#bench/http/sound.ts"
import { formOf, send, textAt } from "./calls.ts"

const MEGABYTES = 20
const CONCURRENCY = 8
const WARM_FILES = 8
const FILES = 32
const RSS_INTERVAL_MS = 50

export const files: Scenario = {
  id: "files",
  title: () => `${FILES} files of ${MEGABYTES} MB stored, ${CONCURRENCY} at once; the digest of one is compared`,
  direct: false,
  fresh: true,
  smokeRounds: 1,
  excludes: (target) => target.name === "gateway" || target.name === "nginx" ? null : "keeps no files",
  run: async (_, { endpoint }) => {
    const pid = endpoint.pid ?? 0
    const agent = new http.Agent({ keepAlive: true, maxSockets: CONCURRENCY })
    const content = soundOf(MEGABYTES * 1_048_576)
    const form = formOf("user_data", "kept.bin", content)
    const isGateway = endpoint.apiKey !== null
    let stored = 0
    let last = ""
    const store = async (count: number): Promise<void> => {
      let left = count
      const worker = async (): Promise<void> => {
        while (left-- > 0) {
          const path = `/files/${++stored}`
          const answer = await send(endpoint, agent, isGateway ? { method: "POST", path: "/v1/files", ...form } : { method: "PUT", path, body: content })
          last = isGateway ? `/v1/files/${textAt(answer, "id")}/content` : path
        }
      }
      await Promise.all(Array.from({ length: CONCURRENCY }, worker))
    }
    try {
      await store(WARM_FILES)
      const [cpuBefore, mainBefore, kbBefore] = [cpuNanoseconds(pid), mainThreadNanoseconds(pid), treeResidentKb(pid)]
      let kbPeak = kbBefore
      const watch = setInterval(() => kbPeak = Math.max(kbPeak, treeResidentKb(pid)), RSS_INTERVAL_MS)
      const begun = performance.now()
      try {
        await store(FILES)
      } finally {
        clearInterval(watch)
      }
      const seconds = (performance.now() - begun) / 1_000
      const [cpuNs, mainNs] = [cpuNanoseconds(pid) - cpuBefore, mainThreadNanoseconds(pid) - mainBefore]
      const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
      if (digest(await send(endpoint, agent, { method: "GET", path: last })) !== digest(content)) throw new Error(`${last} has other bytes than were sent`)
      const megabytes = FILES * MEGABYTES
      return {
        values: {
          "files.cpuUs": cpuNs / 1_000 / megabytes, "files.mainUs": mainNs / 1_000 / megabytes, "files.memoryMb": (kbPeak - kbBefore) / 1_024, "files.mbPerSecond": megabytes / seconds
        },
        notes: []
      }
    } finally {
      agent.destroy()
    }
  }
}
