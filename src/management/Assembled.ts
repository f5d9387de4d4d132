/** What only the whole gateway knows and single features answer or check by; the assemblies fold it. */
import * as Context from "effect/Context"
import type { Route } from "#schemas/api/RouteTable.ts"

export class Assembled extends Context.Service<Assembled, {
  /** Every route of the management API with its access rule. */
  readonly routes: ReadonlyArray<Route>
}>()("gateway/management/Assembled") {}
