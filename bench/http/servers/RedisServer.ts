/** A Redis server of the bench's own, for a gateway that is one of several nodes; it ends with the bench. */
import { freePort, listening, programPath, start, workDirectory } from "./processes.ts"

const LISTEN_TIMEOUT_MS = 10_000

/** Answers its URL, the same for every caller; null where no server program is installed. */
export const redisServer = (cpu: number | null): (() => Promise<string>) | null => {
  const program = programPath("redis-server")
  if (program === null) return null
  let url: Promise<string> | null = null
  const launch = async (): Promise<string> => {
    const port = await freePort()
    const child = start(program, ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", workDirectory], { name: "redis", cpu })
    await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS)
    return `redis://127.0.0.1:${port}`
  }
  return () => url ??= launch()
}
