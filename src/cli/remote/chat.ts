/** `gateway chat`: one streamed answer of a model through the whole gateway, as any client would get it. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { failure, unreached } from "#src/cli/Failure.ts"
import { find, type RemoteOptions } from "./Remote.ts"

/** ms until the answer begins, and between two pieces of it. */
const silenceMs = 120_000

const everything = async (): Promise<string> => {
  let text = ""
  for await (const chunk of process.stdin) text += String(chunk)
  return text
}

const messageOf = (text: string): string => {
  try {
    const body = JSON.parse(text) as { readonly error?: { readonly message?: unknown } | string }
    const { error } = body
    return typeof error === "string" ? error : typeof error?.message === "string" ? error.message : text
  } catch {
    return text
  }
}

interface Frame {
  readonly choices?: ReadonlyArray<{ readonly delta?: { readonly content?: string | null } }>
  readonly error?: { readonly message?: string }
}

/** Writes each piece as it comes; answers why the stream failed, or null. */
const follow = async (response: Response, write: (text: string) => void, alive: () => void): Promise<string | null> => {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of response.body ?? []) {
    alive()
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const data = line.startsWith("data: ") ? line.slice(6).trim() : ""
      if (data === "" || data === "[DONE]") continue
      const frame = JSON.parse(data) as Frame
      if (frame.error !== undefined) return frame.error.message ?? "the stream ended with an error"
      write(frame.choices?.[0]?.delta?.content ?? "")
    }
  }
  return null
}

export const chat = Effect.fnUntraced(function*(options: RemoteOptions & { readonly model: string; readonly message: string | undefined; readonly key: string | undefined }) {
  const { settings, url } = yield* find(options)
  const message = options.message ?? (yield* Effect.promise(everything))
  if (message.trim() === "") return yield* failure("Say something: gateway chat <model> \"Hello\", or through standard input.")
  const key = options.key ?? settings.environment["GATEWAY_API_KEY"]
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(new Error(`silent for ${silenceMs / 1000} s`)), silenceMs)
  const ended = yield* Effect.tryPromise({
    try: async () => {
      const response = await fetch(new URL("/v1/chat/completions", url), {
        method: "POST",
        headers: { "content-type": "application/json", ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ model: options.model, stream: !options.json, messages: [{ role: "user", content: message }] }),
        signal: patience.signal,
        redirect: "error"
      })
      if (!response.ok) return { failed: `${response.status}: ${messageOf(await response.text())}`, whole: "", status: response.status }
      if (options.json) return { failed: null, whole: await response.text(), status: 200 }
      return { failed: await follow(response, (text) => process.stdout.write(text), () => timer.refresh()), whole: "", status: 200 }
    },
    catch: (error) => failure(`The gateway at ${url} cannot be asked: ${unreached(error)}`)
  }).pipe(Effect.ensuring(Effect.sync(() => clearTimeout(timer))))
  if (ended.failed !== null) {
    return yield* failure(`${options.model} did not answer: ${ended.failed}`
      + (ended.status === 401 && key === undefined ? "\nGive a key of the gateway with --key or GATEWAY_API_KEY; `gateway keys create me` makes one." : ""))
  }
  yield* options.json ? Console.log(ended.whole) : Effect.sync(() => process.stdout.write("\n"))
})
