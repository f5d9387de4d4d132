import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { Document, Success, text } from "#schemas/api/fields.ts"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"

const opt = Schema.optionalKey

const formats = ["chat-completions", "completions", "messages", "responses", "generateContent", "local-model-server"] as const satisfies ReadonlyArray<FormatName>
const families = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"] as const satisfies ReadonlyArray<FamilyName>

export const format = Schema.Literals(formats)
export const family = Schema.Literals(families)

/** Longest recorded stream, characters: a body of the management API holds no more. */
const streamMax = 1_000_000

const asked = {
  /** A request as a client of its format sends it. */
  body: Document,
  /** Id, alias or prefix of a provider: put in front of a model without it. */
  provider: opt(text(1, 120)),
  /** In the place of the body's own; formats whose requests name none need it for a provider's sake. */
  model: opt(text(1, 300)),
  /** Detected when it is absent. */
  sourceFormat: opt(format)
}

const Reading = Schema.Struct({
  format,
  readable: Schema.Boolean,
  /** Members that only this format has. */
  evidence: Schema.Array(Schema.String),
  problem: Schema.NullOr(Schema.Struct({ field: Schema.NullOr(Schema.String), message: Schema.String }))
})

const Detection = Schema.Struct({
  format: Schema.NullOr(format),
  sure: Schema.Boolean,
  model: Schema.NullOr(Schema.String),
  /** The format of the upstream that the model leads to; null when none is known. */
  targetFormat: Schema.NullOr(family),
  readings: Schema.Array(Reading)
}).annotate({ identifier: "FormatDetection" })

/** 1: detected, 2: the neutral form, 3: the target's body, 4: the call; `direct`: the body alone. */
const step = Schema.Literals([1, 2, 3, 4, "direct"])

const Translation = Schema.Struct({
  success: Schema.Literal(true),
  sourceFormat: format,
  /** Null where the step needs none. */
  targetFormat: Schema.NullOr(family),
  step,
  /** Those up to the one that was asked for; none of `direct`. */
  steps: Schema.Array(Schema.Struct({ step: Schema.Int, name: Schema.String, result: Schema.Json })),
  /** Of the last step. */
  result: Schema.Json,
  /** Fields of the client that the target cannot say. */
  omitted: Schema.Array(Schema.String)
}).annotate({ identifier: "Translation" })

const Usage = Schema.NullOr(Schema.Struct({ input: Schema.Number, output: Schema.Number }))

const Saved = Schema.Struct({
  name: Schema.String,
  savedAt: Schema.String,
  sourceFormat: Schema.NullOr(format),
  targetFormat: Schema.NullOr(format),
  note: Schema.NullOr(Schema.String)
}).annotate({ identifier: "SavedTranslation" })

const content = {
  body: opt(Document),
  stream: opt(text(1, streamMax)),
  sourceFormat: opt(format),
  targetFormat: opt(format),
  note: opt(text(1, 500))
}

const name = text(1, 120)
const base = "/api/translator"

/** Translation between formats, to look at and to try. */
export const TranslatorGroup = HttpApiGroup.make("translator").add(
  HttpApiEndpoint.post("detect", `${base}/detect`, { payload: Schema.Struct({ body: asked.body, provider: asked.provider, model: asked.model }), success: Detection })
    .annotate(Access, writes).annotate(OpenApi.Summary, "The format of a request, and what speaks for it"),
  HttpApiEndpoint.post("translate", `${base}/translate`, { payload: Schema.Struct({ ...asked, targetFormat: opt(family), step: opt(step) }), success: Translation })
    .annotate(Access, writes).annotate(OpenApi.Summary, "A request in another format, step by step")
    .annotate(OpenApi.Description, "The target is targetFormat, else the format of the upstream that the model leads to. Nothing is sent, and nothing is kept."),
  HttpApiEndpoint.post("send", `${base}/send`, {
    payload: Schema.Struct(asked),
    success: Schema.Struct({
      status: Schema.Int,
      sourceFormat: format,
      path: Schema.String,
      latencyMs: Schema.Number,
      /** JSON, or the text of a stream. */
      body: Schema.Json,
      /** The answer was longer than what is shown. */
      truncated: Schema.Boolean
    })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Sends a request as a client of its format would; it costs what it costs")
    .annotate(OpenApi.Description, "The request is one without a key: it has rows in the ledger, and limits of keys do not count it. status is that of the answer."),
  HttpApiEndpoint.post("stream", `${base}/transform-stream`, {
    payload: Schema.Struct({ stream: text(1, streamMax), sourceFormat: opt(family), targetFormat: format, model: opt(text(1, 300)) }),
    success: Schema.Struct({
      sourceFormat: family,
      targetFormat: format,
      stream: Schema.String,
      /** False when the stream broke off: the translated one ends with an error. */
      complete: Schema.Boolean,
      malformed: Schema.Boolean,
      /** What the upstream said in place of an answer. */
      error: Schema.NullOr(Schema.String),
      /** Tokens as the upstream counted them. */
      usage: Usage,
      /** The model's text. */
      text: Schema.String
    })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "A recorded stream of an upstream as a client of another format would have read it"),
  HttpApiEndpoint.get("history", `${base}/history`, { success: Schema.Struct({ entries: Schema.Array(Saved) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "What was saved, newest first"),
  HttpApiEndpoint.get("load", `${base}/load`, { query: { name }, success: Schema.Struct({ ...Saved.fields, body: Schema.NullOr(Document), stream: Schema.NullOr(Schema.String) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One saved request or stream"),
  HttpApiEndpoint.post("save", `${base}/save`, { payload: Schema.Struct({ name, ...content }), success: Saved })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Keeps a request or a stream under a name; what had the name is replaced"),
  HttpApiEndpoint.delete("remove", `${base}/save`, { query: { name }, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Removes what was saved under a name")
).annotateMerge(OpenApi.annotations({ title: "Translator", description: "Requests and streams of one format in another, by the codecs that serve requests." }))
