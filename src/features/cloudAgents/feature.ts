/** Tasks for coding agents that run at their vendors. */
import * as Feature from "#src/management/Feature.ts"
import { CloudAgentsGroup } from "./api.ts"
import * as Http from "./http.ts"
import version59 from "./migrations/0059_cloudTasks.ts"
import * as PostgresCloudTaskStore from "./PostgresCloudTaskStore.ts"

export const cloudAgents = Feature.make({
  name: "cloudAgents",
  groups: [CloudAgentsGroup],
  handlers: Http.layer,
  stores: PostgresCloudTaskStore.layer,
  migrations: { "59_cloudTasks": version59 }
})
