/** Access tokens of scripts and terminals. */
import * as Feature from "#src/management/Feature.ts"
import { TokensGroup } from "./api.ts"
import * as Http from "./http.ts"
import version12 from "./migrations/0012_tokenOrigin.ts"
import * as PostgresAccessTokenStore from "./PostgresAccessTokenStore.ts"

export const tokens = Feature.make({
  name: "tokens",
  groups: [TokensGroup],
  handlers: Http.layer,
  stores: PostgresAccessTokenStore.layer,
  migrations: { "12_tokenOrigin": version12 }
})
