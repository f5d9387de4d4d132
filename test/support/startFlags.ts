/** How a test starts a gateway as a process: as `npm start` does. */
import * as path from "node:path"
import { asStarted } from "#bench/http/servers/asStarted.ts"

export const { env: startEnvironment, flags: startFlags } = asStarted(path.resolve(import.meta.dirname, "../.."))
