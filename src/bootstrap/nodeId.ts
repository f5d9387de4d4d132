/** Names this node in the ledger and to its own command line: given, or derived from the machine and the data directory. */
import * as Crypto from "node:crypto"
import * as Os from "node:os"
import * as Path from "node:path"

export const nodeIdOf = (settings: { readonly machineId: string | null; readonly dataDir: string }): string =>
  settings.machineId ?? Crypto.hash("sha256", `${Os.hostname()}:${Path.resolve(settings.dataDir)}`, "hex").slice(0, 12)
