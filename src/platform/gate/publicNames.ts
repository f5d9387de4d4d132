/** Names by which the gateway can be called for a while: those of its own tunnels. Each gateway of a process has its own. */
import * as Context from "effect/Context"

export interface Names {
  /** A lower-case host name without a port. */
  readonly has: (name: string) => boolean
  /** The names of one owner, in place of those that it had. */
  readonly set: (owner: string, names: ReadonlyArray<string>) => void
}

export const make = (): Names => {
  const byOwner = new Map<string, ReadonlyArray<string>>()
  let all: ReadonlySet<string> = new Set()
  return {
    has: (name) => all.has(name),
    set: (owner, names) => {
      byOwner.set(owner, names)
      all = new Set([...byOwner.values()].flat())
    }
  }
}

export const PublicNames = Context.Reference<Names>("gateway/gate/PublicNames", { defaultValue: make })
