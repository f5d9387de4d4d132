/** The nodes that share one database, as one: what gateways call each other by. */
import * as Context from "effect/Context"

export class NodeGroup extends Context.Service<NodeGroup, {
  /** Made by the first start on a database, and not secret. */
  readonly id: string
}>()("gateway/ports/NodeGroup") {}
