/** What the tools of other MCP servers do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, NEWS_MS, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("mcp-servers", {
    postgres: {
      away: effect("admitted", "Tools are served by what is known; changes are refused, and audit rows of calls are lost, which is logged.", null),
      flushed: effect("denied", "The servers are gone with the store: their tools are not offered any more.", NEWS_MS)
    },
    node: {
      killed: effect("admitted", "Calls on the node end; every other node has sessions of its own.")
    }
  })
]
