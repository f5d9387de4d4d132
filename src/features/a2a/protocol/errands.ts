/** What a message of the protocol asks for. Pure. */
import * as Crypto from "node:crypto"
import type { Message, SendMessageRequest } from "@a2a-js/sdk"
import { Role } from "@a2a-js/sdk"
import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors"
import * as Schema from "effect/Schema"
import { type Errand, LONGEST_ID } from "#src/features/a2a/Desk.ts"
import { DEFAULT_SKILL } from "#src/features/a2a/skills/index.ts"
import { at, type Json } from "#src/management/inner/Inner.ts"

/** What a client may declare that it reads, beside nothing at all. */
const readable: ReadonlySet<string> = new Set(["text", "text/plain", "text/*", "application/json", "application/*", "*/*"])

const isJson = Schema.is(Schema.Record(Schema.String, Schema.Json))

const membersOf = (metadata: unknown): Readonly<Record<string, Json>> => isJson(metadata) ? metadata : {}

const named = (value: Json | undefined): string | null => typeof value === "string" && value !== "" ? value.slice(0, LONGEST_ID) : null

/** Texts as they are, data as JSON; the gateway reads no files. */
const textOf = (message: Message): string => message.parts.map(({ content }) => {
  switch (content?.$case) {
    case "text":
      return content.value
    case "data":
      return JSON.stringify(content.value)
    default:
      throw new ContentTypeNotSupportedError("A part is text or data; files are not read.")
  }
}).join("\n")

/** A data part may name the skill, too. */
const skillInData = (message: Message): string | null => {
  for (const { content } of message.parts) {
    const value: unknown = content?.$case === "data" ? content.value : null
    const skill = isJson(value) ? named(at(value, "skill")) : null
    if (skill !== null) return skill
  }
  return null
}

export const of = (params: SendMessageRequest, message: Message): Errand => {
  const modes = params.configuration?.acceptedOutputModes ?? []
  if (modes.length > 0 && !modes.some((mode) => readable.has(mode.toLowerCase()))) {
    throw new ContentTypeNotSupportedError("The gateway answers with text/plain and application/json.")
  }
  if (message.contextId.length > LONGEST_ID || message.messageId.length > LONGEST_ID) throw new RequestMalformedError(`An id has at most ${LONGEST_ID} characters.`)
  const request = { ...membersOf(params.metadata), ...membersOf(message.metadata) }
  return {
    skill: named(request["skill"]) ?? named(request["skillId"]) ?? skillInData(message) ?? DEFAULT_SKILL,
    contextId: message.contextId === "" ? Crypto.randomUUID() : message.contextId,
    messages: [{ id: message.messageId, role: message.role === Role.ROLE_AGENT ? "agent" : "user", content: textOf(message) }],
    request
  }
}
