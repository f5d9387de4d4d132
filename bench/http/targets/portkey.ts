/**
 * Portkey's open gateway as a peer: installed into the bench's own folder when it is asked for, and started in front of the mock.
 * It checks no key and keeps no records. Its streams of this release answer 500 on Node 22, so that only whole answers are measured.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { freePort, listening, root, startNode, stop } from "#bench/http/servers/processes.ts"
import type { Surroundings, Target } from "./Target.ts"

const LISTEN_TIMEOUT_MS = 30_000
const INSTALL_TIMEOUT_MS = 300_000
const folder = "bench/peers/portkey"
const program = `${folder}/node_modules/@portkey-ai/gateway/build/start-server.js`

const install = (): void => {
  if (existsSync(join(root, program))) return
  const { error, status, stderr } = spawnSync("npm", ["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"], {
    cwd: join(root, folder), encoding: "utf8", timeout: INSTALL_TIMEOUT_MS
  })
  if (status !== 0) throw new Error(`npm ci in ${folder} failed: ${error?.message ?? stderr.trim().split("\n").at(-1) ?? ""}`)
}

export const portkey = (around: Surroundings): Target => ({
  name: "portkey",
  owned: true,
  translates: false,
  only: ["request"],
  launch: async (instance) => {
    install()
    const port = await freePort()
    const child = startNode(program, [`--port=${port}`, "--headless"], {
      name: `portkey-${instance}`, cpu: around.cpu, env: { NODE_ENV: "production" }
    }, around.nodeFlags)
    const listeningMs = await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS)
    return {
      endpoint: {
        host: "127.0.0.1", port, basePath: "/v1", modelPrefix: "", apiKey: "sk-bench-upstream", pid: child.pid,
        headers: ["x-portkey-provider", "openai", "x-portkey-custom-host", `http://127.0.0.1:${around.mockPort}/v1`]
      },
      listeningMs,
      stop: () => stop(child)
    }
  }
})
