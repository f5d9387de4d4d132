/** The coding agents of this suite: where they are installed, how each is pointed at the gateway, and how one is run apart from the network. */
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import type { FormatName } from "#schemas/wire/conversation.ts"

const directory = import.meta.dirname
const modules = path.join(directory, "packages", "node_modules")

/** Whether the agents are installed; without them the suite is skipped with the reason printed, and fails under CI. */
export const areInstalled = (): boolean => {
  if (process.env["CI"] === "true" || fs.existsSync(modules)) return true
  console.warn("The coding agents are skipped: install them with 'npm ci --ignore-scripts --omit=optional --prefix test/clients/packages'.")
  return false
}

export interface Place {
  /** The gateway. */
  readonly url: string
  readonly key: string
  readonly model: string
  /** The format that the agent is to speak. */
  readonly face: FormatName
  /** A home of its own. */
  readonly home: string
}

export interface Prepared {
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  /** In place of this Node. */
  readonly program?: string
}

export interface Agent {
  readonly name: string
  readonly faces: ReadonlyArray<FormatName>
  /** The tool that writes a file, with its arguments. */
  readonly write: (file: string, content: string) => { readonly name: string; readonly arguments: Readonly<Record<string, string>> }
  /** Prepares the home; answers the command line and the environment. */
  readonly prepare: (place: Place, prompt: string) => Prepared | Promise<Prepared>
}

const file = (home: string, name: string, content: unknown): void => {
  fs.mkdirSync(path.dirname(path.join(home, name)), { recursive: true })
  fs.writeFileSync(path.join(home, name), JSON.stringify(content))
}

/** Where the agents' commands are. */
export const commands = path.join(modules, ".bin")

export const script = (...parts: ReadonlyArray<string>): string => path.join(modules, ...parts)

const piFaces = {
  "chat-completions": { api: "openai-completions", base: "/v1" },
  "responses": { api: "openai-responses", base: "/v1" },
  "messages": { api: "anthropic-messages", base: "" },
  "generateContent": { api: "google-generative-ai", base: "/v1beta" }
} as const

export const pi: Agent = {
  name: "pi",
  faces: Object.keys(piFaces) as ReadonlyArray<FormatName>,
  write: (name, content) => ({ name: "write", arguments: { path: name, content } }),
  prepare: ({ face, home, key, model, url }, prompt) => {
    const { api, base } = piFaces[face as keyof typeof piFaces]
    file(home, "pi/models.json", { providers: { gw: { baseUrl: `${url}${base}`, apiKey: key, api, models: [{ id: model }] } } })
    return {
      args: [script("@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js"), "--mode", "json", "--provider", "gw", "--model", model, prompt],
      environment: { PI_CODING_AGENT_DIR: path.join(home, "pi"), PI_OFFLINE: "1", PI_TELEMETRY: "0" }
    }
  }
}

export const gemini: Agent = {
  name: "Gemini CLI",
  faces: ["generateContent"],
  write: (name, content) => ({ name: "write_file", arguments: { file_path: name, content } }),
  prepare: ({ home, key, model, url }, prompt) => {
    file(home, ".gemini/settings.json", {
      security: { auth: { selectedType: "gemini-api-key" } }, privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false },
      telemetry: { enabled: false }
    })
    return {
      args: [script("@google", "gemini-cli", "bundle", "gemini.js"), "-p", prompt, "-m", model, "-o", "json", "--approval-mode", "yolo", "--skip-trust"],
      environment: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key }
    }
  }
}

export const qwen: Agent = {
  name: "Qwen Code",
  faces: ["chat-completions"],
  write: (name, content) => ({ name: "write_file", arguments: { file_path: name, content } }),
  prepare: ({ home, key, model, url }, prompt) => {
    file(home, ".qwen/settings.json", { privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false } })
    return {
      args: [
        script("@qwen-code", "qwen-code", "cli-entry.js"), "--auth-type", "openai", "--openai-base-url", `${url}/v1`, "--openai-api-key", key, "--model", model,
        "--approval-mode", "yolo", "--output-format", "json", "-p", prompt
      ],
      environment: { QWEN_HOME: path.join(home, ".qwen") }
    }
  }
}

/** `sockets`: it asks over the responses socket, which it prefers; else over HTTP. */
const codexOver = (sockets: boolean): Agent => ({
  name: sockets ? "Codex over a socket" : "Codex over HTTP",
  faces: ["responses"],
  write: (name, content) => ({ name: "exec_command", arguments: { cmd: `printf '${content.replaceAll("\n", "\\n")}' > '${name}'` } }),
  prepare: ({ home, key, model, url }, prompt) => {
    const directory = path.join(home, "codex")
    fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(path.join(directory, "config.toml"), [
      `model = "${model}"`, "model_provider = \"gw\"", "check_for_update_on_startup = false", "[analytics]", "enabled = false", "[model_providers.gw]",
      "name = \"gw\"", `base_url = "${url}/v1"`, "env_key = \"GATEWAY_KEY\"", "wire_api = \"responses\"", `supports_websockets = ${sockets}`,
      "request_max_retries = 0", "stream_max_retries = 0", ""
    ].join("\n"))
    return {
      args: [script("@openai", "codex", "bin", "codex.js"), "exec", "--skip-git-repo-check", "-s", "danger-full-access", prompt],
      environment: { CODEX_HOME: directory, GATEWAY_KEY: key }
    }
  }
})

export const codex = codexOver(true)
export const codexHttp = codexOver(false)

export interface Ran {
  readonly code: number | null
  readonly output: string
  /** Sockets that it asked for. */
  readonly upgrades: number
}

/** Root may make a network namespace where the kernel lets it; elsewhere the agents run as any program does. */
const mayIsolate = spawnSync("unshare", ["-n", "ip", "link", "set", "lo", "up"]).status === 0

const longestRunMs = 60_000

/** A new home with a working directory in it. */
export const makeHome = (): { readonly home: string; readonly work: string } => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "agent-"))
  const work = path.join(home, "work")
  fs.mkdirSync(work)
  return { home, work }
}

/** One run of an agent in its home's working directory, ended after a minute. */
export const run = async (agent: Agent, place: Place, prompt: string): Promise<Ran> => {
  const { home } = place
  const socket = path.join(home, "gateway")
  const { port } = new URL(place.url)
  let upgrades = 0
  const bridge = net.createServer((client) => {
    const gateway = net.connect(Number(port), "127.0.0.1")
    client.once("data", (head) => {
      if (/^upgrade: websocket/im.test(head.toString("latin1"))) upgrades++
    })
    client.pipe(gateway).pipe(client)
    client.on("error", () => gateway.destroy())
    gateway.on("error", () => client.destroy())
  })
  await new Promise<void>((resolve) => mayIsolate ? bridge.listen(socket, resolve) : bridge.listen(0, "127.0.0.1", resolve))
  const url = mayIsolate ? place.url : `http://127.0.0.1:${(bridge.address() as net.AddressInfo).port}`
  const { args, environment, program = process.execPath } = await agent.prepare({ ...place, url }, prompt)
  const command = mayIsolate
    ? ["unshare", "-n", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh", process.execPath, path.join(directory, "relay.mjs"), socket, port, program, ...args]
    : [program, ...args]
  const child = spawn(command[0] as string, command.slice(1), {
    cwd: path.join(home, "work"),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: {
      PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: path.join(home, "c"), XDG_DATA_HOME: path.join(home, "d"), XDG_CACHE_HOME: path.join(home, "k"),
      XDG_STATE_HOME: path.join(home, "s"), NO_COLOR: "1", CI: "1", ...environment
    }
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => { output += text })
  const late = setTimeout(() => process.kill(-(child.pid as number), "SIGKILL"), longestRunMs)
  try {
    const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    return { code, output, upgrades }
  } finally {
    clearTimeout(late)
    bridge.close()
  }
}
