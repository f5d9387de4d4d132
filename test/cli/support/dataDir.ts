/** Data directories and gateways on them. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Postgres from "#test/support/postgres.ts"
import { type Command, emptyDirectory, freePort, start } from "./command.ts"

const copyOf = async (template: Promise<string>): Promise<string> => {
  const copy = path.join(emptyDirectory(), "data")
  fs.cpSync(await template, copy, { recursive: true, preserveTimestamps: true })
  return copy
}

/** A data directory of its own whose database knows no table yet. */
export const initialised = (): Promise<string> => copyOf(Postgres.initialised())

/** A migrated data directory of its own. */
export const migrated = (): Promise<string> => copyOf(Postgres.migrated())

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
