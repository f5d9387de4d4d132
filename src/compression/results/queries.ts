/** Which results of tools are lists that were asked for, and no file: only those lose elements. Whatever is not surely one stays. Pure. */
import { printedBy } from "#src/compression/command.ts"
import type { Piece } from "#src/compression/Piece.ts"

/** Programs whose JSON describes what is elsewhere. */
const programs: ReadonlySet<string> = new Set(["gh", "glab", "aws", "gcloud", "az", "docker", "podman", "npm", "pnpm", "yarn", "pip", "pip3", "cargo"])
const lists = /(?:^|[_.\-/])(?:list|search|query|find)(?:[_.\-/]|$)|(?:^|[_.\-/])(?:list|search|query|find)[A-Z]/
/** What a client may edit from, or what it looks up to edit. */
const files = /file|read|view|cat|edit|open|note|doc|page|diff|patch|content|code|grep|glob|repo|path|dir|symbol|snippet|text/i

export const isQuery = ({ command, role, tool }: Piece): boolean => {
  if (role !== "tool") return false
  if (command !== null) return programs.has(printedBy(command)?.[0] ?? "")
  return tool !== null && lists.test(tool) && !files.test(tool)
}
