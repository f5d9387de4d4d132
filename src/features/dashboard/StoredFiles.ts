/** Reads `dashboard/dist` once, at the first request for it: no file is opened for a later one, and none at the start. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { type Built, type DashboardFile, DashboardFiles } from "./ports/DashboardFiles.ts"

const directory = path.resolve(import.meta.dirname, "../../../dashboard/dist")

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8"
}

/** Null for a file that is not there. */
const bytesOf = (file: string): Promise<Uint8Array | null> => fs.readFile(file).catch(() => null)

const exists = (file: string): Promise<boolean> => fs.access(file).then(() => true, () => false)

const read = async (place: string): Promise<Built | null> => {
  const index = await bytesOf(path.join(place, "index.html"))
  if (index === null) return null
  const assets = path.join(place, "assets")
  const names = (await fs.readdir(assets)).filter((name) => path.extname(name) in types)
  const files = await Promise.all(names.map(async (name): Promise<readonly [string, DashboardFile]> => {
    const file = path.join(assets, name)
    const [plain, brotli, gzip] = await Promise.all([fs.readFile(file), bytesOf(`${file}.br`), bytesOf(`${file}.gz`)])
    return [name, { type: types[path.extname(name)] ?? "application/octet-stream", plain, brotli, gzip }]
  }))
  return { index: Buffer.from(index).toString("utf8"), assets: new Map(files) }
}

/** What was read stays; a dashboard that is not there yet is looked for again. */
export const make = (isOn: boolean, place = directory): DashboardFiles["Service"] => {
  let known: Built | null = null
  return {
    isOn,
    isReady: Effect.promise(async () => isOn && (known !== null || await exists(path.join(place, "index.html")))),
    // A build that renames its result just now is as good as none: the next request finds it.
    built: Effect.promise(async () => known ??= await read(place).catch(() => null))
  }
}

export const layerOf = (settings: Values) => Layer.sync(DashboardFiles, () => make(settings.dashboard))
