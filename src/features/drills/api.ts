import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { integer } from "#schemas/api/fields.ts"

const Fault = Schema.Literals(["rate-limit-storm", "stall", "half-stream"])

export const DrillView = Schema.Struct({
  id: Schema.String,
  /** The process whose simulator it acts on. */
  node: Schema.String,
  fault: Fault,
  /** Part of the simulator's calls that it strikes, above 0 and up to 1. */
  share: Schema.Finite,
  startedAt: Schema.String,
  endsAt: Schema.String,
  /** Null while it runs. */
  endedAt: Schema.NullOr(Schema.String),
  endedBy: Schema.NullOr(Schema.Literals(["time", "operator"])),
  /** Calls that it struck. */
  struck: Schema.Int
}).annotate({ identifier: "Drill" })
export interface DrillView extends Schema.Schema.Type<typeof DrillView> {}

export const NewDrill = Schema.Struct({
  fault: Fault,
  seconds: integer(5, 120),
  /** Without it every call is struck. */
  share: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1)))
})
export interface NewDrill extends Schema.Schema.Type<typeof NewDrill> {}

const One = Schema.Struct({ drill: DrillView })

/** Fire drills: faults of the built-in simulator for some seconds. */
export const DrillsGroup = HttpApiGroup.make("drills").add(
  HttpApiEndpoint.get("list", "/api/drills", {
    success: Schema.Struct({
      /** The process that answers; drills of other processes are not listed. */
      node: Schema.String,
      /** False: the simulator is turned off (GATEWAY_SIM_PROVIDER), and no drill can start. */
      available: Schema.Boolean,
      drills: Schema.Array(DrillView)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "The drill that runs on this node, and its last ones"),
  HttpApiEndpoint.post("start", "/api/drills", { payload: NewDrill, success: One.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Strike calls of the built-in simulator on this node with a fault, for some seconds"),
  HttpApiEndpoint.delete("stop", "/api/drills/:id", { params: { id: Schema.String }, success: One })
    .annotate(Access, writes).annotate(OpenApi.Summary, "End the drill that runs on this node; calls that it holds are cut")
).annotateMerge(OpenApi.annotations({
  title: "Fire drills",
  description: "A scripted fault of the built-in simulator, `sim`: breakers, cooldowns and combos react to it, and no other provider is touched. A drill acts on one node and ends by itself."
}))
