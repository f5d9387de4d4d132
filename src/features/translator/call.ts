/** The call that a target's upstream would get, as it may be shown: no value that could be a credential leaves. Pure. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Conversation, FormatName } from "#schemas/wire/conversation.ts"
import { REDACTED } from "#src/management/redact.ts"

/** Headers whose values are shown; any other may hold a secret. */
const shownHeaders: ReadonlySet<string> = new Set(["content-type", "accept", "accept-encoding", "anthropic-version", "anthropic-beta", "user-agent"])
/** Parameters of addresses whose values are shown. */
const shownParameters: ReadonlySet<string> = new Set(["alt", "api-version"])

const shownPath = (path: string): string => {
  const [place = "", query] = path.split("?", 2)
  if (query === undefined) return place
  const parameters = Array.from(new URLSearchParams(query), ([name, value]) => `${name}=${shownParameters.has(name) ? value : REDACTED}`)
  return `${place}?${parameters.join("&")}`
}

export const shownCall = ({ headers, origin, path, publicModel, streamPath, tokenFrom = null }: Target, stream: boolean) => {
  const shown: Record<string, string> = {}
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    shown[name] = shownHeaders.has(name) ? headers[i + 1] as string : REDACTED
  }
  if (tokenFrom !== null) shown["authorization"] = REDACTED
  return { model: publicModel, method: "POST", url: origin + shownPath(stream ? streamPath : path), headers: shown }
}

/** Where a client of a format sends a request; `model`: for the format whose paths name it. */
export const pathOf = (format: FormatName, model: string, stream: boolean): string => {
  switch (format) {
    case "chat-completions":
      return "/v1/chat/completions"
    case "completions":
      return "/v1/completions"
    case "messages":
      return "/v1/messages"
    case "responses":
      return "/v1/responses"
    case "generateContent":
      return `/v1beta/models/${encodeURIComponent(model)}:${stream ? "streamGenerateContent" : "generateContent"}`
    case "local-model-server":
      return "/v1/api/chat"
  }
}

/** What the neutral form says, as JSON; a mark of the parser's own is no part of it. */
export const shownConversation = (conversation: Conversation): unknown =>
  JSON.parse(JSON.stringify(conversation, (key, value: unknown) => key === "checked" ? undefined : value))
