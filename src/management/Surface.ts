/**
 * The management API as a feature's handlers see it: its own group behind the one middleware, with strict bodies and queries. All
 * surfaces have one name, so the handlers of a group serve it in the whole API, too (`src/ManagementApi.ts`).
 */
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { Management } from "#schemas/api/Management.ts"

/** `make(KeysGroup)`, for `HttpApiBuilder.group(make(KeysGroup), "keys", ...)`; or every group of the API. */
export const make = <const Groups extends readonly [HttpApiGroup.Constraint, ...ReadonlyArray<HttpApiGroup.Constraint>]>(...groups: Groups) =>
  HttpApi.make("management").add(...groups)
    .middleware(Management)
    .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
    .annotate(HttpApi.QueryParseOptions, { errors: "all" })
