/** Names this machine's gateway to its own command line, and each of its processes in the ledger and to the others. */
import * as Crypto from "node:crypto"
import * as Os from "node:os"
import * as Path from "node:path"

/** Given, or derived from the machine and the data directory; all workers of one gateway share it. */
export const nodeIdOf = (settings: { readonly machineId: string | null; readonly dataDir: string }): string =>
  settings.machineId ?? Crypto.hash("sha256", `${Os.hostname()}:${Path.resolve(settings.dataDir)}`, "hex").slice(0, 12)

/** The node's id, with the worker's number where there are several. */
export const processIdOf = (settings: { readonly machineId: string | null; readonly dataDir: string; readonly worker: number }): string =>
  settings.worker === 0 ? nodeIdOf(settings) : `${nodeIdOf(settings)}-w${settings.worker}`
