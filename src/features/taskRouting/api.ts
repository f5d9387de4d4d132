import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { Document, partial } from "#schemas/api/fields.ts"
import { BackgroundDegradationSettings, TaskModelMap, TaskRoutingSettings, tasks } from "#schemas/words/TaskRouting.ts"
import { reasons } from "#src/routing/tasks/background.ts"
import { intents } from "#src/routing/tasks/detect.ts"

const opt = Schema.optionalKey
const taskRouting = "/api/settings/task-routing"
const backgroundDegradation = "/api/settings/background-degradation"

/** Requests of this node. `unavailable`: the model of the task could not serve them. */
const counted = { detected: Schema.Int, routed: Schema.Int, unavailable: Schema.Int }
const Count = Schema.Struct(counted).annotate({ identifier: "TaskCount" })
const each = <Name extends string>(names: ReadonlyArray<Name>) => Schema.Record(Schema.Literals(names), Count)

const TaskStats = Schema.Struct({ since: Schema.String, ...counted, byTask: each(tasks), byIntent: each(intents) }).annotate({ identifier: "TaskRoutingStats" })
const BackgroundStats = Schema.Struct({
  since: Schema.String, detected: Schema.Int, redirected: Schema.Int, unavailable: Schema.Int, byReason: each(reasons)
}).annotate({ identifier: "BackgroundDegradationStats" })

const TaskRoutingView = Schema.Struct({ ...TaskRoutingSettings.fields, stats: TaskStats }).annotate({ identifier: "TaskRouting" })
const BackgroundView = Schema.Struct({ ...BackgroundDegradationSettings.fields, stats: BackgroundStats }).annotate({ identifier: "BackgroundDegradation" })

/** Members of `taskModelMap` are changed one by one. */
export const TaskRoutingChange = Schema.Struct({ ...partial(TaskRoutingSettings).fields, taskModelMap: opt(partial(TaskModelMap)) })
export interface TaskRoutingChange extends Schema.Schema.Type<typeof TaskRoutingChange> {}
/** `degradationMap` and `detectionPatterns` are replaced. */
export const BackgroundDegradationChange = partial(BackgroundDegradationSettings)

const ResetStats = Schema.Struct({ action: Schema.Literal("reset-stats") }).annotate({ identifier: "ResetStats" })
/** `body`: of a request in any format of conversations. */
const Detect = Schema.Struct({ action: Schema.Literal("detect"), body: Document }).annotate({ identifier: "DetectTask" })
export const Detected = Schema.Struct({
  taskType: Schema.Literals(tasks),
  source: Schema.String,
  /** Of `taskModelMap`; null = none. */
  model: Schema.NullOr(Schema.String),
  intent: Schema.Literals(intents),
  /** Why it is a request in the background; null = it is none. */
  background: Schema.NullOr(Schema.Literals(reasons))
}).annotate({ identifier: "DetectedTask" })

/** Models by kinds of tasks. */
export const TaskRoutingGroup = HttpApiGroup.make("taskRouting").add(
  HttpApiEndpoint.get("get", taskRouting, { success: TaskRoutingView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Models by kinds of tasks, and what this node counted"),
  HttpApiEndpoint.put("put", taskRouting, { payload: TaskRoutingChange, success: TaskRoutingView })
    .annotate(SentBack, sentBack({ moves: ["stats"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of task routing"),
  HttpApiEndpoint.post("act", taskRouting, { payload: Schema.Union([ResetStats, Detect]), success: Schema.Union([TaskRoutingView, Detected]) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Reset the counts of this node, or say of which kind a request is"),
  HttpApiEndpoint.get("getBackground", backgroundDegradation, { success: BackgroundView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Cheaper models for requests in the background, and what this node counted"),
  HttpApiEndpoint.put("putBackground", backgroundDegradation, { payload: BackgroundDegradationChange, success: BackgroundView })
    .annotate(SentBack, sentBack({ moves: ["stats"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of background degradation"),
  HttpApiEndpoint.post("actBackground", backgroundDegradation, { payload: ResetStats, success: BackgroundView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Reset the counts of this node")
).annotateMerge(OpenApi.annotations({ title: "Task routing", description: "Which models serve which kinds of tasks." }))
