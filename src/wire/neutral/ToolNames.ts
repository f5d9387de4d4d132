/**
 * Names of tools on their way through another format: every family takes a letter or `_` and then letters, digits, `_` and `-`, 64
 * characters together. Other names are rewritten, each to one of its own, and found again in the answer.
 */
import type { Conversation, Tool } from "#schemas/wire/conversation.ts"

const legal = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/
const longest = 64
/** Characters at the beginning of a name that no number replaces. */
const alwaysKept = 54

/** What a name in an answer stands for. */
export interface Meant {
  readonly name: string
  /** The tool takes free text. */
  readonly custom: boolean
}

/** Names of the answer that do not stand for themselves. */
export type Restored = ReadonlyMap<string, Meant>

const nameOf = (tool: Tool): string | null => tool.kind === "hosted" ? null : tool.name

/** The name each tool or past call travels under. */
export class ToolNames {
  private readonly written = new Map<string, string>()
  private readonly taken = new Set<string>()
  /** The number to try next, by the beginning of a name: many names that are rewritten to one take each their own at once. */
  private readonly numbers = new Map<string, number>()

  constructor({ tools, turns }: Pick<Conversation, "tools" | "turns">) {
    // What is legal keeps its name, whatever stands before it.
    const names = new Set<string>()
    for (const tool of tools) {
      const name = nameOf(tool)
      if (name !== null) names.add(name)
    }
    for (const turn of turns) for (const part of turn.parts) if (part.kind === "toolCall") names.add(part.name)
    for (const name of names) {
      if (!legal.test(name)) continue
      this.taken.add(name)
      this.written.set(name, name)
    }
    for (const name of names) if (!this.written.has(name)) this.written.set(name, this.fresh(name))
  }

  of(name: string): string {
    return this.written.get(name) ?? name
  }

  private fresh(name: string): string {
    const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_")
    const stem = /^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`
    const beginning = stem.slice(0, alwaysKept)
    for (let i = 1; ; i = Math.max(i + 1, this.numbers.get(beginning) ?? 0)) {
      const tail = i === 1 && stem.length <= longest ? "" : `_${i}`
      const written = `${stem.slice(0, longest - tail.length)}${tail}`
      if (this.taken.has(written)) continue
      this.taken.add(written)
      if (i > 1) this.numbers.set(beginning, i + 1)
      return written
    }
  }
}

/** How names of an answer are read for the client that asked; null when each stands for itself. */
export const restoredOf = (conversation: Conversation): Restored | null => {
  let names: ToolNames | null = null
  let restored: Map<string, Meant> | null = null
  for (const tool of conversation.tools) {
    if (tool.kind === "hosted" || (tool.kind === "function" && legal.test(tool.name))) continue
    names ??= new ToolNames(conversation)
    ;(restored ??= new Map()).set(names.of(tool.name), { name: tool.name, custom: tool.kind === "custom" })
  }
  return restored
}
