/** What the database keeps, and its upkeep. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { DatabaseGroup } from "./api.ts"
import { DatabaseOptions } from "./DatabaseOptions.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as PostgresDatabaseTables from "./PostgresDatabaseTables.ts"
import { SchemaGroup } from "./schema/api.ts"
import * as SchemaHttp from "./schema/http.ts"
import * as PostgresSchemaCheck from "./schema/PostgresSchemaCheck.ts"
import * as StartCheck from "./schema/startCheck.ts"

export const database = Feature.make({
  name: "database",
  groups: [DatabaseGroup, SchemaGroup],
  handlers: Layer.merge(Http.layer, SchemaHttp.layer),
  acting: [Acting.database],
  degradation,
  stores: PostgresDatabaseTables.layer,
  services: ({ memoryDays, usageDays }) => Layer.merge(
    Layer.succeed(DatabaseOptions, { memoryDays, usageDays }),
    Layer.provideMerge(StartCheck.layer, PostgresSchemaCheck.layer)
  )
})
