/** Models by kinds of tasks. What a task is known by is `src/routing/tasks`. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { TaskRoutingGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as TaskRouting from "./TaskRouting.ts"

export const taskRouting = Feature.make({
  name: "taskRouting",
  groups: [TaskRoutingGroup],
  handlers: Http.layer,
  acting: [Acting.taskRouting, Acting.backgroundDegradation],
  services: () => TaskRouting.layer
})
