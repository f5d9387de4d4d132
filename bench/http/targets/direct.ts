import type { Surroundings, Target } from "./Target.ts"

/** No proxy: the load generator speaks to the mock. What a latency is added to. */
export const direct = (around: Surroundings): Target => ({
  name: "direct",
  owned: false,
  translates: false,
  launch: () =>
    Promise.resolve({
      endpoint: { host: "127.0.0.1", port: around.mockPort, basePath: "/v1", modelPrefix: "", apiKey: null, pid: null },
      listeningMs: null,
      stop: () => Promise.resolve()
    })
})
