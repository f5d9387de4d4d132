#!/usr/bin/env node
/**
 * Proves the Dockerfile where there is no container engine: runs its COPY and RUN steps in a temporary directory, starts the image's
 * command there, asks its health check, streams one answer and stops it. `/app` and `/data` become directories below the temporary one.
 * Steps that change users are not run. Checks the unit of systemd, too. Uses the network for `npm ci` only.
 *
 *     node deploy/prove.mjs
 */
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const repository = fileURLToPath(new URL("..", import.meta.url))
const place = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-image-"))
const patienceMs = 120_000
let gateway

const finish = (code) => {
  if (gateway !== undefined && gateway.exitCode === null) gateway.kill("SIGKILL")
  fs.rmSync(place, { recursive: true, force: true })
  process.exit(code)
}
const fail = (reason) => {
  console.error(reason)
  finish(1)
}

/** Instructions with their lines joined, comments left out. */
const instructions = fs.readFileSync(path.join(repository, "deploy", "Dockerfile"), "utf8")
  .replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n/g, " ").split("\n").filter((line) => line.trim() !== "")
  .map((line) => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line)
    return { name, rest }
  })

/** One directory per stage; absolute paths of an image lie below it. */
const stages = new Map()
let stage

const inStage = (text, { root } = stage) => text.replaceAll(/(?<![\w./])\/(app|data|files)\b/g, `${root}/$1`)
/** How the machine reaches the packages' registry is no matter of the image. */
const network = Object.fromEntries(["NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => process.env[name] === undefined ? [] : [[name, process.env[name]]]))
const environment = () => ({ PATH: process.env.PATH, HOME: place, npm_config_cache: process.env.npm_config_cache ?? path.join(os.homedir(), ".npm"), ...network, ...stage.variables })

const copy = (rest) => {
  const words = rest.split(/\s+/)
  const from = words[0].startsWith("--from=") ? stages.get(words.shift().slice("--from=".length)) : undefined
  const target = words.pop()
  const to = target.startsWith("/") ? inStage(target) : path.join(stage.directory, target)
  for (const word of words) {
    const source = from === undefined ? path.join(repository, word) : inStage(word, from)
    if (!fs.existsSync(source)) fail(`COPY ${rest}: ${source} does not exist`)
    const isFileInto = fs.statSync(source).isFile() && target.endsWith("/")
    fs.cpSync(source, isFileInto ? path.join(to, path.basename(word)) : to, { recursive: true, verbatimSymlinks: true, filter: (file) => path.basename(file) !== ".git" })
  }
}

const run = (command) => {
  const kept = command.split("&&").map((part) => part.trim()).filter((part) => !/^(?:useradd|chown)\b/.test(part))
  if (kept.length === 0) return
  const script = inStage(kept.join(" && "))
  const { status, stderr, stdout } = spawnSync("bash", ["--norc", "-euc", script], { cwd: stage.directory, env: environment(), encoding: "utf8" })
  if (status !== 0) fail(`RUN ${script} ended with ${status}:\n${stdout}\n${stderr}`)
  if (stdout.trim() !== "") console.log(stdout.trim().split("\n").at(-1))
}

/** The unit's syntax, where systemd is installed. */
const checkUnit = () => {
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0) {
    console.log("systemd is not installed here: deploy/gateway.service is not checked")
    return
  }
  const file = path.join(place, "gateway.service")
  const unit = fs.readFileSync(path.join(repository, "deploy", "gateway.service"), "utf8")
  fs.writeFileSync(file, unit.replaceAll("/opt/gateway", repository.replace(/\/$/, "")).replace("User=gateway", "User=daemon"))
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" })
  const about = stderr.split("\n").filter((line) => line.includes(file))
  if (status !== 0 || about.length > 0) fail(`deploy/gateway.service cannot be used:\n${about.join("\n")}`)
  console.log("deploy/gateway.service can be read")
}
checkUnit()

const json = (rest) => JSON.parse(rest.slice(rest.indexOf("[")))
for (const { name, rest } of instructions) {
  if (name !== "HEALTHCHECK") console.log(`${name} ${rest}`)
  if (name === "FROM") {
    const [, label] = /\bAS (\w+)/.exec(rest) ?? [null, "image"]
    const root = path.join(place, label)
    stage = { root, directory: root, variables: {} }
    stages.set(label, stage)
    fs.mkdirSync(root)
  } else if (name === "WORKDIR") {
    stage.directory = inStage(rest)
    fs.mkdirSync(stage.directory, { recursive: true })
  } else if (name === "COPY") copy(rest)
  else if (name === "RUN") run(rest)
  else if (name === "ENV") {
    const at = rest.indexOf("=")
    stage.variables[rest.slice(0, at)] = inStage(rest.slice(at + 1))
  } else if (name === "HEALTHCHECK") stage.health = json(rest)
  else if (name === "ENTRYPOINT") stage.entry = json(rest)
  else if (name === "CMD") stage.command = json(rest)
}

const freePort = () => new Promise((resolve) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address()
    server.close(() => resolve(port))
  })
})

const size = spawnSync("du", ["-sm", path.join(stage.root, "app")], { encoding: "utf8" }).stdout.split("\t")[0]
console.log(`/app has ${size} MB`)

const port = await freePort()
Object.assign(stage.variables, { PORT: String(port), HOST: "127.0.0.1", REQUIRE_API_KEY: "false" })
const isHealthy = () => spawnSync(stage.health[0], stage.health.slice(1), { cwd: stage.directory, env: environment(), encoding: "utf8" }).status === 0
if (isHealthy()) fail("the health check succeeds without a gateway")

gateway = spawn(path.join(stage.directory, stage.entry[0]), [...stage.entry.slice(1), ...stage.command], { cwd: stage.directory, env: environment() })
let said = ""
const ready = new Promise((resolve) => {
  for (const stream of [gateway.stdout, gateway.stderr]) stream.setEncoding("utf8").on("data", (text) => {
    said += text
    if (said.includes("listens on")) resolve(true)
  })
  gateway.on("close", () => resolve(false))
  setTimeout(() => resolve(false), patienceMs).unref()
})
if (!await ready) fail(`the gateway was not ready:\n${said}`)
if (!isHealthy()) fail(`the health check fails on a ready gateway:\n${said}`)
console.log("the health check succeeds")

const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "sim/echo", stream: true, messages: [{ role: "user", content: "Hello, gateway" }] })
})
const text = await answer.text()
if (!text.includes("data: [DONE]")) fail(`the stream did not end:\n${text}`)
console.log("one stream was answered")

const ended = new Promise((resolve) => gateway.on("close", resolve))
gateway.kill("SIGTERM")
const code = await ended
if (code !== 0) fail(`the gateway ended with ${code} after SIGTERM:\n${said}`)
console.log("stopped with exit code 0")
finish(0)
