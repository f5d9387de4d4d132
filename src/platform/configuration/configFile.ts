/** Which configuration file a process reads. */
import { existsSync } from "node:fs"
import * as path from "node:path"
import type { Values } from "./Settings.ts"

/** Read from the working directory when no variable names another file, as `.env` is. */
const usual = "gateway.yaml"

/** Absolute; null: there is none. */
export const configFileOf = ({ configFile }: Pick<Values, "configFile">): string | null =>
  configFile !== null ? path.resolve(configFile) : existsSync(usual) ? path.resolve(usual) : null
