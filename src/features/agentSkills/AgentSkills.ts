/** Skills for coding agents in the document store: what operators wrote, and the pages that were made of the catalogue. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { Assembled } from "#src/management/Assembled.ts"
import { AgentSkill } from "./AgentSkill.ts"
import * as Catalogue from "./catalogue.ts"

const ownKind = "agent-skill"
const pageKind = "agent-skill-page"

const Page = Schema.Struct({ markdown: Schema.String, generatedAt: Schema.String })
type Page = typeof Page.Type

const readOwn = Schema.decodeUnknownOption(AgentSkill)
const readPage = Schema.decodeUnknownOption(Page)

export const make = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const { described } = yield* Assembled
  return {
    /** The same as long as the process runs. */
    entries: yield* Effect.cached(Effect.map(Effect.promise(described), Catalogue.entriesOf)),
    // A document of another version is as if it were not there.
    own: Effect.map(documents.list(ownKind), (found) =>
      [...found.values()].flatMap((value) => Option.toArray(readOwn(value))).sort((a, b) => a.name < b.name ? -1 : 1)),
    putOwn: (skill: AgentSkill) => documents.put(ownKind, skill.id, skill),
    removeOwn: (id: string) => documents.remove(ownKind, id),
    pages: Effect.map(documents.list(pageKind), (found): ReadonlyMap<string, Page> =>
      new Map([...found].flatMap(([id, value]) => Option.toArray(readPage(value)).map((page) => [id, page] as const)))),
    putPage: (id: string, page: Page) => documents.put(pageKind, id, page),
    removePage: (id: string) => documents.remove(pageKind, id)
  }
})
