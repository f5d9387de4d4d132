/** Requests and streams that operators keep under a name, so that they can be tried again. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { DocumentStore } from "#actors/ports/Stores.ts"
import { Document } from "#schemas/api/fields.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { format } from "./api.ts"

const KIND = "translation"
/** Saved at once. */
const SAVES_MAX = 100
/** Longest saved request or stream, bytes of JSON. */
const BYTES_MAX = 262_144

const Save = Schema.Struct({
  savedAt: Schema.String,
  sourceFormat: Schema.NullOr(format),
  targetFormat: Schema.NullOr(format),
  note: Schema.NullOr(Schema.String),
  body: Schema.NullOr(Document),
  stream: Schema.NullOr(Schema.String)
})
const readSave = Schema.decodeUnknownOption(Save)

export interface Content {
  readonly body?: Readonly<Record<string, Schema.Json>>
  readonly stream?: string
  readonly sourceFormat?: FormatName
  readonly targetFormat?: FormatName
  readonly note?: string
}

export const make = (documents: DocumentStore["Service"], configuration: Configuration["Service"]) => {
  const view = (name: string, { body: _body, stream: _stream, ...rest }: typeof Save.Type) => ({ name, ...rest })

  return {
    /** Newest first. */
    list: Effect.map(documents.list(KIND), (all) => Array.from(all, ([name, value]) => ({ name, save: readSave(value) }))
      .flatMap(({ name, save }) => save._tag === "None" ? [] : [view(name, save.value)])
      .sort((a, b) => a.savedAt < b.savedAt ? 1 : a.savedAt > b.savedAt ? -1 : a.name < b.name ? -1 : 1)),
    load: Effect.fn("Saves.load")(function*(name: string) {
      const save = readSave(yield* documents.get(KIND, name))
      if (save._tag === "None") return yield* Effect.fail(Refusal.notFound("Nothing is saved under this name"))
      return { name, ...save.value }
    }),
    save: Effect.fn("Saves.save")(function*(name: string, { body, note, sourceFormat, stream, targetFormat }: Content) {
      if ((body === undefined) === (stream === undefined)) return yield* Effect.fail(Refusal.invalidField("body", "Give either body or stream"))
      const save = {
        savedAt: new Date(yield* Clock.currentTimeMillis).toISOString(), sourceFormat: sourceFormat ?? null, targetFormat: targetFormat ?? null, note: note ?? null,
        body: body ?? null, stream: stream ?? null
      }
      if (Buffer.byteLength(JSON.stringify(body ?? stream)) > BYTES_MAX) {
        return yield* Effect.fail(Refusal.invalidField(body === undefined ? "stream" : "body", `At most ${BYTES_MAX} bytes can be saved`))
      }
      // Counted inside the commit: one writer at a time, so that no two take the last place.
      yield* configuration.commit(Effect.gen(function*() {
        const known = yield* documents.list(KIND)
        if (!known.has(name) && known.size >= SAVES_MAX) return yield* Effect.fail(Refusal.conflict(`${SAVES_MAX} are saved: remove one first`))
        yield* documents.put(KIND, name, save)
      }))
      return view(name, save)
    }),
    remove: Effect.fn("Saves.remove")(function*(name: string) {
      if (!(yield* configuration.commit(documents.remove(KIND, name)))) return yield* Effect.fail(Refusal.notFound("Nothing is saved under this name"))
    })
  }
}
