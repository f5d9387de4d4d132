// @ts-check
/** What each thread runs before any source of the gateway: `node --import ./src/preload.mjs src/main.ts`. */
import { enable } from "./cli/moduleCache.mjs"

enable()
