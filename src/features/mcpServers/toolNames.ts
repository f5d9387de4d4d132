/** Names of tools as the gateway offers them, and patterns of them. Pure. */
import * as Crypto from "node:crypto"
import { compileGlob } from "#src/routing/models/glob.ts"

/** A server's name is the prefix of its tools. */
export const serverName = /^[a-z][a-z0-9-]{0,31}$/
/** Between the name of a server, which has none of these, and its tool's. */
const SEPARATOR = "__"
/** Characters of a name that every vendor of models takes. */
export const NAME_MAX = 64
const HASH_CHARACTERS = 8

/** `<server>__<tool>` in letters, digits, `_` and `-`; a longer name ends with a hash of itself. */
export const offered = (server: string, tool: string): string => {
  const name = `${server}${SEPARATOR}${tool.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`
  if (name.length <= NAME_MAX) return name
  const hash = Crypto.hash("sha256", tool, "hex").slice(0, HASH_CHARACTERS)
  return `${name.slice(0, NAME_MAX - HASH_CHARACTERS - 1)}_${hash}`
}

const compiled = new Map<string, (text: string) => boolean>()
/** Patterns that are kept compiled. */
const COMPILED_MAX = 5_000

const globOf = (pattern: string): (text: string) => boolean => {
  let glob = compiled.get(pattern)
  if (glob === undefined) {
    if (compiled.size >= COMPILED_MAX) compiled.clear()
    compiled.set(pattern, glob = compileGlob(pattern))
  }
  return glob
}

/** Does a server's own tool stand on a list of patterns? */
export const listed = (patterns: ReadonlyArray<string>, tool: string): boolean => patterns.some((pattern) => globOf(pattern)(tool))

/** A pattern names a server, or tools by the names that are offered. */
export const names = (patterns: ReadonlyArray<string>, server: string, name: string): boolean =>
  patterns.some((pattern) => pattern === server || globOf(pattern)(name))
