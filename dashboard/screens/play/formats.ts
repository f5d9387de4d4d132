/** The six wire formats of clients: where each is asked, what it sends, and where its answer has the text. */

export interface Ask {
  readonly model: string
  readonly prompt: string
  readonly system: string
  readonly maxTokens: number | null
  readonly temperature: number | null
  /** Other members of the body, such as tools; they win over the form's. */
  readonly more?: Readonly<Record<string, unknown>>
}

interface Format {
  readonly word: string
  readonly path: (model: string) => string
  readonly body: (ask: Ask) => Readonly<Record<string, unknown>>
  /** The text that one frame of the stream adds. */
  readonly textOf: (frame: Member) => string
}

type Member = Readonly<Record<string, unknown>>

const isMember = (value: unknown): value is Member => typeof value === "object" && value !== null

/** What stands at a path of members and indexes. */
const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown => path.reduce<unknown>((seen, name) => isMember(seen) ? seen[name] : undefined, value)

const text = (value: unknown): string => typeof value === "string" ? value : ""

const defined = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ""))

const messages = ({ prompt, system }: Ask) => [...(system === "" ? [] : [{ role: "system", content: system }]), { role: "user", content: prompt }]

/** The format needs a maximum. */
const DEFAULT_MAX_TOKENS = 1_024

export const formats = {
  "chat-completions": {
    word: "Chat completions",
    path: () => "/v1/chat/completions",
    body: (ask) => defined({ model: ask.model, messages: messages(ask), max_tokens: ask.maxTokens, temperature: ask.temperature, stream: true, stream_options: { include_usage: true } }),
    textOf: (frame) => text(at(frame, "choices", 0, "delta", "content"))
  },
  messages: {
    word: "Messages",
    path: () => "/v1/messages",
    body: (ask) => defined({
      model: ask.model, max_tokens: ask.maxTokens ?? DEFAULT_MAX_TOKENS, system: ask.system, temperature: ask.temperature, messages: [{ role: "user", content: ask.prompt }], stream: true
    }),
    textOf: (frame) => frame["type"] === "content_block_delta" ? text(at(frame, "delta", "text")) : ""
  },
  responses: {
    word: "Responses",
    path: () => "/v1/responses",
    body: (ask) => defined({ model: ask.model, input: ask.prompt, instructions: ask.system, max_output_tokens: ask.maxTokens, temperature: ask.temperature, stream: true }),
    textOf: (frame) => frame["type"] === "response.output_text.delta" ? text(frame["delta"]) : ""
  },
  completions: {
    word: "Completions",
    path: () => "/v1/completions",
    body: (ask) => defined({ model: ask.model, prompt: ask.system === "" ? ask.prompt : `${ask.system}\n\n${ask.prompt}`, max_tokens: ask.maxTokens, temperature: ask.temperature, stream: true }),
    textOf: (frame) => text(at(frame, "choices", 0, "text"))
  },
  generateContent: {
    word: "Generate content",
    path: (model) => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: (ask) => defined({
      contents: [{ role: "user", parts: [{ text: ask.prompt }] }],
      systemInstruction: ask.system === "" ? null : { parts: [{ text: ask.system }] },
      generationConfig: defined({ maxOutputTokens: ask.maxTokens, temperature: ask.temperature })
    }),
    textOf: (frame) => {
      const parts = at(frame, "candidates", 0, "content", "parts")
      return Array.isArray(parts) ? parts.map((part) => text(at(part, "text"))).join("") : ""
    }
  },
  "local-model-server": {
    word: "Local model server",
    path: () => "/v1/api/chat",
    body: (ask) => defined({ model: ask.model, messages: messages(ask), options: defined({ num_predict: ask.maxTokens, temperature: ask.temperature }), stream: true }),
    textOf: (frame) => text(at(frame, "message", "content"))
  }
} as const satisfies Readonly<Record<string, Format>>

export type FormatName = keyof typeof formats

/** What is sent. */
export const bodyOf = (format: FormatName, ask: Ask): Readonly<Record<string, unknown>> => ({ ...formats[format].body(ask), ...ask.more })

export const formatOf = (name: string | undefined): FormatName => name !== undefined && name in formats ? name as FormatName : "chat-completions"

/** The sentence in an error body, whichever format wrote it. */
export const errorText = (body: unknown): string => {
  const error = at(body, "error")
  return text(error) || text(at(error, "message")) || text(at(body, "message"))
}
