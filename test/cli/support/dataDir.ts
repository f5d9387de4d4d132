/** Data directories: the first one of a file is made by `gateway migrate`, the others are copies of it. */
import * as fs from "node:fs"
import * as path from "node:path"
import { type Command, emptyDirectory, freePort, run, start } from "./command.ts"

let template: Promise<string> | null = null

const make = async (): Promise<string> => {
  const dataDir = path.join(emptyDirectory(), "data")
  const { code, stderr } = await run(["migrate", "--data-dir", dataDir])
  if (code !== 0) throw new Error(`gateway migrate failed: ${stderr}`)
  return dataDir
}

/** A directory that a test has migrated saves making one. */
export const useAsTemplate = (dataDir: string): void => {
  template ??= Promise.resolve(dataDir)
}

/** A migrated data directory of its own. */
export const migrated = async (): Promise<string> => {
  template ??= make()
  const copy = path.join(emptyDirectory(), "data")
  fs.cpSync(await template, copy, { recursive: true, preserveTimestamps: true })
  return copy
}

export interface Served {
  readonly url: string
  readonly port: number
  readonly command: Command
}

/** A gateway that is ready. */
export const serve = async (dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Served> => {
  const port = await freePort()
  const command = start(["serve"], { env: { PORT: String(port), GATEWAY_DATA_DIR: dataDir, ...env } })
  await command.said("listens on")
  return { url: `http://127.0.0.1:${port}`, port, command }
}

/** A chat completion of the built-in simulator. */
export const chat = (served: Served, body: object, key?: string): Promise<Response> =>
  fetch(`${served.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ messages: [{ role: "user", content: "hello" }], ...body })
  })
