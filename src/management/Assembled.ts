/** What only the whole gateway knows and single features answer or check by; the assemblies fold it. */
import * as Context from "effect/Context"
import type { Table } from "#src/management/acting/Table.ts"
import type { Route } from "#schemas/api/RouteTable.ts"

export class Assembled extends Context.Service<Assembled, {
  /** Every route of the management API with its access rule. */
  readonly routes: ReadonlyArray<Route>
  /** Which fields of which records act. */
  readonly acting: ReadonlyArray<Table>
}>()("gateway/management/Assembled") {}
