/** The description of the HTTP surface for tools; the page of it is mounted beside the API (`Docs.ts`). */
import * as Feature from "#src/management/Feature.ts"
import { DescriptionGroup } from "./api.ts"
import * as Http from "./http.ts"

export const docs = Feature.make({
  name: "docs",
  groups: [DescriptionGroup],
  handlers: Http.layer
})
