/** What only the whole gateway knows and single features answer or check by; the assemblies fold it. */
import * as Context from "effect/Context"
import type { DegradationRow } from "#schemas/degradation.ts"
import type { Table } from "#src/management/acting/ActingTable.ts"
import type { RouteRule } from "#schemas/api/RouteTable.ts"

/** What the gateway offers, as its own descriptions say it. */
export interface Described {
  /** Groups of the HTTP interface, in the order of its description. */
  readonly groups: ReadonlyArray<{
    readonly name: string
    readonly description: string
    readonly operations: ReadonlyArray<{ readonly method: string; readonly path: string; readonly summary: string }>
  }>
  /** Commands of the command line. `help` is what `--help` prints. */
  readonly commands: ReadonlyArray<{ readonly name: string; readonly description: string; readonly help: ReadonlyArray<string> }>
}

export class Assembled extends Context.Service<Assembled, {
  /** Every route of the management API with its access rule. */
  readonly routes: ReadonlyArray<RouteRule>
  /** Which fields of which records act. */
  readonly acting: ReadonlyArray<Table>
  /** What every feature does while something that it depends on fails. */
  readonly degradation: ReadonlyArray<DegradationRow>
  /** The description of the whole HTTP surface, OpenAPI 3.1; made when it is first asked for. */
  readonly description: () => Promise<Readonly<Record<string, unknown>>>
  /** What coding agents are told of groups and commands; loaded at the first look. */
  readonly described: () => Promise<Described>
}>()("gateway/management/Assembled") {}
