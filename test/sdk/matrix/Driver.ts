/**
 * A vendor's client as a scenario sees it: a conversation is kept in the client's own types, so that what it gives back on the next
 * turn is what the client itself made of the answer. Each driver is the client unmodified, with a `fetch` that remembers headers.
 */
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import type { Family, Matrix } from "#test/support/families.ts"

export interface Setup {
  readonly model: string
  readonly system?: string
  /** `tools` below. */
  readonly tools?: boolean
  /** `required`, or the name of the tool. */
  readonly forced?: string
  readonly maxTokens?: number
  readonly stop?: ReadonlyArray<string>
  readonly thinking?: boolean
  /** `schema` below. */
  readonly structured?: boolean
  /** Fields of the client's own request beside these. */
  readonly extra?: Readonly<Record<string, unknown>>
}

export interface Result {
  readonly id: string
  readonly name: string
  readonly text: string
  readonly isError?: boolean
  /** Base64 of a PNG. */
  readonly image?: string
}

export interface HeardCall {
  readonly id: string
  readonly name: string
  readonly args: unknown
}

export interface Heard {
  readonly text: string
  readonly thinking: string
  /** What stands in the format's own place for refusals. */
  readonly refusal: string
  readonly calls: ReadonlyArray<HeardCall>
  /** The client's own word for why it ended. */
  readonly finish: string
  readonly usage: Usage | null
}

/** `input` includes what was cached, `output` the thoughts; null where the format has no word. */
export interface Usage {
  readonly input: number
  readonly cached: number | null
  readonly output: number
}

export interface Talk {
  readonly say: (text: string, image?: string) => void
  readonly results: (results: ReadonlyArray<Result>) => void
  /** Sends everything so far and keeps the answer. `onText` hears the pieces of a stream. */
  readonly ask: (stream: boolean, onText?: (piece: string) => void, signal?: AbortSignal) => Promise<Heard>
  /** A header of the last response. */
  readonly header: (name: string) => string
}

export interface Driver {
  readonly face: FormatName
  readonly open: (matrix: Matrix, setup: Setup, key?: string) => Talk
  /** What the client calls the reasons to end. */
  readonly words: { readonly stop: string; readonly length: string; readonly tools: string; readonly filter: string; readonly refusal: string; readonly refusesInWords: boolean }
  /** How it calls fields, as errors and X-Gateway-Omitted name them; null where it has no such field. */
  readonly fields: { readonly stop: string | null; readonly toolChoice: string | null }
  readonly reportsCached: boolean
  /** Its word for a stream that broke, where the client does not throw. */
  readonly broken: string | null
  /** Its tool results may hold pictures, and say that they are errors. */
  readonly resultImages: boolean
  readonly resultErrors: boolean
  /** It gives signatures back; null: the format has no place for any. */
  readonly carriesSignatures: boolean
  /** A field that some families have no word for. */
  readonly hint: { readonly field: string; readonly extra: Readonly<Record<string, unknown>>; readonly omittedFor: ReadonlyArray<FamilyName> }
  /** The class that the client throws for a status, by name; its message and status are asserted by the scenario. */
  readonly errorClass: (status: number) => abstract new(...args: never) => Error
  /** What it throws for an error inside a stream. */
  readonly streamError: abstract new(...args: never) => Error
  readonly statusOf: (error: unknown) => number | undefined
}

export const tools = [
  {
    name: "get_weather", description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city", "days"], additionalProperties: false }
  },
  { name: "get_time", description: "The time", parameters: { type: "object", properties: {} } }
] as const

export const schema = {
  type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city", "days"], additionalProperties: false
} as const

/** A picture of one point. */
export const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** An empty document. */
export const pdf = Buffer.from("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n").toString("base64")

/** `fetch`, and the headers of its last response. */
export const remembering = () => {
  let last = new Headers()
  const remember: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    last = response.headers
    return response
  }
  return { fetch: remember, header: (name: string) => last.get(name) ?? "" }
}

/** Every scenario of one family gets the same arguments. */
export interface Case {
  readonly driver: Driver
  readonly family: Family
  readonly matrix: () => Matrix
}
