/** What the database keeps, and its upkeep. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { DatabaseGroup } from "./api.ts"
import { DatabaseOptions } from "./DatabaseOptions.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as PostgresDatabaseTables from "./PostgresDatabaseTables.ts"

export const database = Feature.make({
  name: "database",
  groups: [DatabaseGroup],
  handlers: Http.layer,
  acting: [Acting.database],
  degradation,
  stores: PostgresDatabaseTables.layer,
  services: ({ usageDays }) => Layer.succeed(DatabaseOptions, { usageDays })
})
