import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, listening, programPath, start, workDirectory } from "#bench/http/servers/processes.ts"
import { type Candidate, owned, type Surroundings } from "./Target.ts"

const LISTEN_TIMEOUT_MS = 10_000

const configuration = (port: number, mockPort: number): string => `
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  option http-keep-alive
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
frontend bench
  bind 127.0.0.1:${port} backlog 4096
  default_backend mock
backend mock
  server mock 127.0.0.1:${mockPort} pool-max-conn 4096
`

export const haproxy = (around: Surroundings): Candidate => {
  const program = programPath("haproxy")
  if (program === null) return { name: "haproxy", missing: "no haproxy on PATH" }
  return {
    target: {
      name: "haproxy",
      owned: true,
      translates: false,
      launch: async (instance) => {
        mkdirSync(workDirectory, { recursive: true })
        const file = join(workDirectory, `haproxy-${instance}.cfg`)
        const port = await freePort()
        writeFileSync(file, configuration(port, around.mockPort))
        const child = start(program, ["-db", "-f", file], { name: `haproxy-${instance}`, cpu: around.cpu })
        return owned(child, port, await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS))
      }
    }
  }
}
