/** A gateway that runs plugins, with a folder from which they may be installed, and a simulator behind it. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { PluginView } from "#src/features/plugins/api.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

export interface PluginsLab extends Lab {
  readonly folder: string
  /** Writes a plugin's folder, and answers its name. */
  readonly write: (name: string, files: Readonly<Record<string, string>>) => string
  readonly install: (manifest: Record<string, unknown>, code: string) => Promise<PluginView>
  /** Installs and activates it. */
  readonly begin: (manifest: Record<string, unknown>, code: string) => Promise<PluginView>
  readonly act: (name: string, what: "activate" | "deactivate") => Promise<PluginView>
  readonly get: (name: string) => Promise<PluginView>
  readonly remove: (name: string) => Promise<unknown>
  /** Status, and the fields or the code of the error. */
  readonly refused: (method: string, path: string, body?: unknown) => Promise<readonly [status: number, what: string, message: string]>
  /** Body of the last call that the upstream was sent for the model. */
  readonly told: (model: string) => Promise<Record<string, unknown>>
}

export const startPlugins = async (environment: Readonly<Record<string, string>> = {}): Promise<PluginsLab> => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "plugins-"))
  const lab = await startLab({ environment: { GATEWAY_PLUGINS: "on", GATEWAY_PLUGINS_DIR: folder, ...environment } })
  const { operator } = lab.gateway
  const plugin = async (method: string, at: string, body?: unknown) => (await operator.call<{ plugin: PluginView }>(method, at, body)).plugin
  // A busy machine is no reason to go on without a hook.
  const install = (manifest: Record<string, unknown>, code: string) => plugin("POST", "/api/plugins", { manifest: { version: "1.0.0", hookTimeoutMs: 10_000, ...manifest }, code })
  const act = (name: string, what: string) => plugin("POST", `/api/plugins/${name}/${what}`, {})
  return {
    ...lab, folder, install, act,
    write: (name, files) => {
      fs.mkdirSync(path.join(folder, name), { recursive: true })
      for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name, file), text)
      return name
    },
    begin: async (manifest, code) => act((await install(manifest, code)).name, "activate"),
    get: (name) => plugin("GET", `/api/plugins/${name}`),
    remove: (name) => operator.call("DELETE", `/api/plugins/${name}`),
    refused: async (method, at, body) => {
      const { status, text } = await operator.raw(method, at, body)
      const { error } = JSON.parse(text) as { error: { code: string; message: string; details?: ReadonlyArray<{ field: string; message: string }> } }
      return [status, error.details?.map(({ field }) => field).join() ?? error.code, error.details?.[0]?.message ?? error.message]
    },
    told: async (model) => ((await lab.sim.entries({ model })).at(-1)?.body ?? {}) as Record<string, unknown>,
    close: async () => {
      await lab.close()
      fs.rmSync(folder, { recursive: true })
    }
  }
}

/** What a reply's JSON holds at a path. */
export const at = ({ text }: Http.Reply, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((value, name) => typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined, JSON.parse(text))
