/** Batches over HTTP, as the vendor's client makes them. */
import OpenAI, { toFile } from "openai"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { LineCalls, type LineReply, type LineRequest } from "#src/features/batches/run/LineCalls.ts"
import { messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

export type Endpoint = OpenAI.BatchCreateParams["endpoint"]

export const line = (customId: string, body: object, url: string = "/v1/chat/completions"): string =>
  JSON.stringify({ custom_id: customId, method: "POST", url, body })

export const chatLine = (customId: string, model: string, more: object = {}): string => line(customId, { model, messages, max_tokens: 16, ...more })

/** A line of an output or error file. */
export interface Answer {
  readonly id: string
  readonly custom_id: string
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: Record<string, unknown> } | null
  readonly error: { readonly code: string; readonly message: string; readonly type: string } | null
}

/** Calls of lines that an effect answers; the end of a call interrupts it. */
export const callsOf = (answer: (request: LineRequest) => Effect.Effect<LineReply>, isServing: () => boolean = () => true) =>
  Layer.effect(LineCalls, Effect.map(FiberSet.makeRuntime<never, void>(), (fork) => LineCalls.of({
    ask: (request, done) => {
      const fiber = fork(Effect.map(answer(request), done))
      return () => fiber.interruptUnsafe()
    },
    actorOf: (keyId) => Effect.succeed({ keyHash: keyId }),
    isServing
  })))

export class Client {
  readonly openai: OpenAI
  readonly key: string
  readonly keyId: string

  constructor(url: string, { id, key }: { readonly id: string; readonly key: string }) {
    this.key = key
    this.keyId = id
    this.openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  }

  async upload(text: string, purpose: OpenAI.FilePurpose = "batch"): Promise<string> {
    return (await this.openai.files.create({ file: await toFile(Buffer.from(text), "input.jsonl"), purpose })).id
  }

  async content(id: string): Promise<string> {
    return await (await this.openai.files.content(id)).text()
  }

  async create(lines: ReadonlyArray<string> | string, more: Partial<OpenAI.BatchCreateParams> = {}): Promise<OpenAI.Batch> {
    return this.openai.batches.create({
      input_file_id: await this.upload(typeof lines === "string" ? lines : lines.map((one) => `${one}\n`).join("")), endpoint: "/v1/chat/completions", completion_window: "24h", ...more
    })
  }

  /** Waits until nothing happens to it any more. */
  over(id: string, withinMs = 80_000): Promise<OpenAI.Batch> {
    return eventually(() => this.openai.batches.retrieve(id), ({ status }) => ["completed", "failed", "expired", "cancelled"].includes(status), "the end of the batch", withinMs)
  }

  async answers(fileId: string | null | undefined): Promise<ReadonlyArray<Answer>> {
    if (fileId === null || fileId === undefined) return []
    return (await this.content(fileId)).trimEnd().split("\n").map((text) => JSON.parse(text) as Answer)
  }
}
