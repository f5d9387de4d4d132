/** Searches of the web: what is kept of them, and what they came to. */
import * as Feature from "#src/management/Feature.ts"
import { SearchGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import version24 from "./migrations/0024_search.ts"
import * as PostgresSearchStatisticsStore from "./statistics/PostgresSearchStatisticsStore.ts"
import * as SearchStatistics from "./statistics/SearchStatistics.ts"

export const search = Feature.make({
  name: "search",
  groups: [SearchGroup],
  handlers: Http.layer,
  stores: PostgresSearchStatisticsStore.layer,
  migrations: { "24_search": version24 },
  degradation,
  services: () => SearchStatistics.layer
})
