#!/usr/bin/env node
/**
 * Starts the gateway once on a free port with a data directory of its own, and stops it when it is ready: later starts find compiled
 * modules. Run it while an image is built, as the user that will run the gateway.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-warm-"))
const patienceMs = 120_000

const gateway = spawn(path.join(root, "bin", "gateway"), ["serve", "--port", "0", "--data-dir", dataDir], {
  stdio: ["ignore", "pipe", "inherit"],
  env: { ...process.env, HOST: "127.0.0.1" }
})
const late = setTimeout(() => gateway.kill("SIGKILL"), patienceMs)
let ready = false
let said = ""
gateway.stdout.setEncoding("utf8").on("data", (text) => {
  said += text
  if (ready || !said.includes("listens on")) return
  ready = true
  gateway.kill("SIGTERM")
})
gateway.on("close", (code) => {
  clearTimeout(late)
  fs.rmSync(dataDir, { recursive: true, force: true })
  if (ready && code === 0) return
  console.error(`the gateway ended with ${code} ${ready ? "after its stop" : "before it was ready"}:\n${said}`)
  process.exit(1)
})
