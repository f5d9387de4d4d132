import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { spawned } from "#test/support/gateway.ts"
import { eventually, PASSWORD } from "#test/support/operator.ts"
import { startEnvironment, startFlags } from "#test/support/startFlags.ts"

/** Starts the gateway below a parent that never asks how it ended, as a container's first process may not. */
const unreaped = async (dataDir: string, url: string) => {
  const serve = `"${process.execPath}" ${startFlags.join(" ")} src/main.ts serve >/dev/null 2>&1`
  const parent = spawn("sh", ["-c", `${serve} & echo $!; exec sleep 300`], {
    env: {
      PATH: process.env["PATH"], HOME: process.env["HOME"], ...startEnvironment, HOST: "127.0.0.1", PORT: new URL(url).port, GATEWAY_DATA_DIR: dataDir,
      GATEWAY_SIM_PROVIDER: "false", INITIAL_PASSWORD: PASSWORD, GATEWAY_LOOKUP_TIMEOUT_MS: "10000"
    },
    stdio: ["ignore", "pipe", "ignore"]
  })
  const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (line: Buffer) => resolve(Number(line.toString()))))
  await eventually(() => Http.send(url, { path: "/api/health/ping" }).then((reply) => reply.status, () => 0), (status) => status === 200, "its readiness", 50_000)
  return { pid, end: () => parent.kill("SIGKILL") }
}

const stateOf = (pid: number): string => {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3)
}

it.skipIf(process.platform !== "linux")("a restart at once after a kill -9 starts while nobody has reaped the dead process", async () => {
  const gateway = await spawned()
  try {
    await gateway.stop()
    const first = await unreaped(gateway.dataDir, gateway.url)
    try {
      await gateway.operator.login()
      const { key } = await gateway.operator.createKey("survivor")
      process.kill(first.pid, "SIGKILL")
      await eventually(() => Promise.resolve(stateOf(first.pid)), (state) => state === "Z", "the zombie")
      await gateway.start()
      expect(stateOf(first.pid)).toBe("Z")
      const reply = await Http.send(gateway.url, { path: "/v1/models", method: "GET", headers: { authorization: `Bearer ${key}` } })
      expect(reply.status).toBe(200)
    } finally {
      first.end()
    }
  } finally {
    await gateway.close()
  }
}, 300_000)
