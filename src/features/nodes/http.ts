import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { isAlive, Nodes } from "#actors/ports/Nodes.ts"
import { answer } from "#src/management/answer.ts"
import { NodesGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

const iso = (ms: number): string => new Date(ms).toISOString()

export const layer = HttpApiBuilder.group(Surface.make(NodesGroup), "nodes", Effect.fn(function*(handlers) {
  const nodes = yield* Nodes
  return handlers.handleAll({
    list: () => answer(Effect.gen(function*() {
      const version = yield* nodes.version
      const seen = yield* nodes.list
      return {
        version,
        converged: seen.every((node) => !isAlive(node) || node.version >= version),
        nodes: seen.map((node) => ({
          id: node.id,
          self: node.id === nodes.self.id,
          status: isAlive(node) ? "alive" as const : "silent" as const,
          host: node.host,
          address: node.address,
          pid: node.pid,
          worker: node.worker,
          release: node.release,
          startedAt: iso(node.startedAt),
          lastSeenAt: iso(node.lastSeenAt),
          silentMs: Math.round(node.silentMs),
          version: node.version,
          versionAt: iso(node.versionAt)
        }))
      }
    }))
  })
}))
