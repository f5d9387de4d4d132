import { freePort, listening, startNode } from "#bench/http/servers/processes.ts"
import { type Candidate, owned, type Surroundings } from "./Target.ts"

const LISTEN_TIMEOUT_MS = 15_000

/** uWebSockets.js and undici with nothing between them. */
export const bare = (around: Surroundings): Candidate => ({
  target: {
    name: "bare",
    owned: true,
    translates: false,
    launch: async (instance) => {
      const port = await freePort()
      const child = startNode("bench/http/servers/bare.ts", [String(port), `http://127.0.0.1:${around.mockPort}`], {
        name: `bare-${instance}`,
        cpu: around.cpu,
        env: { NODE_ENV: "production" },
        ipc: true
      }, around.nodeFlags)
      return owned(child, port, await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS))
    }
  }
})
