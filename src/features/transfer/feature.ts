/** The configuration of a gateway as one JSON document, for another gateway or for a file. */
import * as Layer from "effect/Layer"
import * as Connections from "#src/features/providers/ports/Connections.ts"
import * as Feature from "#src/management/Feature.ts"
import { TransferGroup } from "./api.ts"
import * as Http from "./http.ts"

export const transfer = Feature.make({
  name: "transfer",
  groups: [TransferGroup],
  handlers: Http.layer.pipe(Layer.provide(Connections.layer))
})
