/** Signing in: the password, sessions, first-run setup. */
import * as Feature from "#src/management/Feature.ts"
import { AuthGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as PostgresSessionStore from "./PostgresSessionStore.ts"
import { degradation } from "./degradation.ts"
import version48 from "./migrations/0048_sessionIdentity.ts"

export const auth = Feature.make({
  name: "auth",
  groups: [AuthGroup],
  handlers: Http.layer,
  stores: PostgresSessionStore.layer,
  migrations: { "48_sessionIdentity": version48 },
  degradation
})
