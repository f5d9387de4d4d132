import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { Document } from "#schemas/api/fields.ts"

/** The description of the HTTP surface. */
export const DescriptionGroup = HttpApiGroup.make("openapi").add(
  HttpApiEndpoint.get("spec", "/api/openapi/spec", { success: [Document, HttpApiSchema.Empty(304)] })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The description of the HTTP surface, OpenAPI 3.1")
    .annotate(OpenApi.Description, "As GET /openapi.json. The reply has an ETag; with If-None-Match of it the answer is 304.")
).annotateMerge(OpenApi.annotations({ title: "Description", description: "What this API offers, for tools." }))
