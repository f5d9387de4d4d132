/** What the MCP server does while what it depends on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { effect, row } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  row("mcp", {
    postgres: {
      away: effect("admitted", "Tools answer; their audit rows are lost, and that is logged.", null),
      flushed: effect("admitted", "The audit rows are gone with the store.")
    },
    redis: {
      away: effect("denied", "Sessions cannot be found: frames get 503 until the store is back.", null),
      flushed: effect("denied", "Sessions are gone: clients open new ones.")
    },
    node: {
      killed: effect("admitted", "Calls on the node end; every other node goes on with the session.", null)
    }
  })
]
