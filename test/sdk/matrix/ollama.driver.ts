/** The `ollama` client on /v1/api/chat. */
import { type ChatResponse, type Message, Ollama } from "ollama"
import type { Driver, Heard, Setup } from "./Driver.ts"
import { remembering, schema, tools } from "./Driver.ts"

export const client = (url: string, key: string, fetch?: typeof globalThis.fetch): Ollama =>
  new Ollama({ host: `${url}/v1`, headers: { authorization: `Bearer ${key}` }, ...(fetch === undefined ? {} : { fetch }) })

/** The client does not export the class of its errors. */
export const ResponseError: abstract new(...args: never) => Error & { readonly status_code: number } =
  await client("http://127.0.0.1:1", "x", () => Promise.resolve(new Response("{}", { status: 400 }))).list().then(
    () => Promise.reject(new Error("a refusal was no error")),
    (error: Error) => error.constructor as abstract new(...args: never) => Error & { readonly status_code: number }
  )

const bodyOf = (setup: Setup, messages: Array<Message>) => {
  const { options, ...extra } = (setup.extra ?? {}) as { readonly options?: Record<string, unknown> }
  return {
    model: setup.model,
    messages: setup.system === undefined ? messages : [{ role: "system", content: setup.system }, ...messages],
    ...(setup.tools === true ? {
      tools: tools.map(({ parameters, ...tool }) => ({
        type: "function", function: { ...tool, parameters: { ...parameters, required: "required" in parameters ? [...parameters.required] : [] } }
      }))
    } : {}),
    ...(setup.thinking === true ? { think: true } : {}),
    ...(setup.structured === true ? { format: schema } : {}),
    options: {
      ...(setup.maxTokens === undefined ? {} : { num_predict: setup.maxTokens }), ...(setup.stop === undefined ? {} : { stop: [...setup.stop] }), ...options
    },
    ...extra
  }
}

const heard = (responses: ReadonlyArray<ChatResponse>): Heard => {
  const last = responses.at(-1)
  const calls = responses.flatMap((response) => response.message.tool_calls ?? [])
  return {
    text: responses.map((response) => response.message.content).join(""),
    thinking: responses.map((response) => response.message.thinking ?? "").join(""),
    refusal: "",
    calls: calls.map((call) => ({ id: "", name: call.function.name, args: call.function.arguments })),
    finish: last?.done_reason ?? "",
    usage: last?.prompt_eval_count === undefined ? null : { input: last.prompt_eval_count, cached: null, output: last.eval_count }
  }
}

export const ollama: Driver = {
  face: "local-model-server",
  words: { stop: "stop", length: "length", tools: "stop", filter: "content_filter", refusal: "content_filter", refusesInWords: false },
  fields: { stop: "options.stop", toolChoice: null },
  reportsCached: false,
  broken: null,
  resultImages: true,
  resultErrors: false,
  carriesSignatures: false,
  hint: { field: "options.seed", extra: { options: { seed: 7 } }, omittedFor: ["messages", "responses"] },
  errorClass: () => ResponseError,
  streamError: Error,
  statusOf: (error) => error instanceof ResponseError ? error.status_code : undefined,
  open: (matrix, setup, key = matrix.key) => {
    const { fetch, header } = remembering()
    const local = client(matrix.url, key, fetch)
    const messages: Array<Message> = []
    return {
      header,
      say: (text, image) => {
        messages.push({ role: "user", content: text, ...(image === undefined ? {} : { images: [image] }) })
      },
      results: (results) => {
        for (const { image, name, text } of results) {
          messages.push({ role: "tool", content: text, tool_name: name, ...(image === undefined ? {} : { images: [image] }) })
        }
      },
      ask: async (stream, onText, signal) => {
        const body = bodyOf(setup, messages)
        const responses: Array<ChatResponse> = []
        if (stream) {
          const iterator = await local.chat({ ...body, stream: true })
          signal?.addEventListener("abort", () => iterator.abort())
          for await (const response of iterator) {
            responses.push(response)
            if (response.message.content !== "") onText?.(response.message.content)
          }
        } else responses.push(await local.chat({ ...body, stream: false }))
        const said = heard(responses)
        messages.push({
          role: "assistant", content: said.text, ...(said.thinking === "" ? {} : { thinking: said.thinking }),
          ...(said.calls.length === 0 ? {} : { tool_calls: responses.flatMap((response) => response.message.tool_calls ?? []) })
        })
        return said
      }
    }
  }
}
