/** The fingerprint of a plugin's main file. */
import * as Crypto from "node:crypto"

/** `sha256-` and base64, as a browser's subresource integrity. */
export const of = (code: string): string => `sha256-${Crypto.hash("sha256", code, "base64")}`

/** `expected`: as a manifest says it, also in hex. */
export const fits = (code: string, expected: string): boolean => {
  const own = of(code)
  if (expected.startsWith("sha256-")) return expected === own
  return Buffer.from(expected.replace(/^sha256:/, ""), "hex").toString("base64") === own.slice("sha256-".length)
}
