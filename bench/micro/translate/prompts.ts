/** Long requests in each face's own words: one long text, many messages, an agent's work, an image. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import { agentPromptOf } from "./agentPrompts.ts"

export type Shape = "text" | "many" | "agent" | "image"

export const shapes: ReadonlyArray<Shape> = ["text", "many", "agent", "image"]

const line = 'export const read = (path: string): string => files.get(path) ?? "nothing" // one line of a program, as prompts hold thousands of them\n'
const perMessage = 400

const textOf = (bytes: number): string => line.repeat(Math.ceil(bytes / JSON.stringify(line).length))
const base64Of = (bytes: number): string => Buffer.from(Uint8Array.from({ length: Math.floor(bytes * 0.75) }, (_, i) => (i * 2_654_435_761) >>> 13 & 255)).toString("base64")

interface Saying {
  readonly role: "user" | "assistant"
  readonly text: string
}

const conversation = (bytes: number): ReadonlyArray<Saying> => {
  const count = Math.ceil(bytes / perMessage) | 1
  const text = line.repeat(2)
  return Array.from({ length: count }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", text }))
}

const question = "What is in this picture?"

/** Null where the face cannot say it. */
export const promptOf = (face: FormatName, shape: Shape, bytes: number): Record<string, unknown> | null => {
  if (shape === "agent") return agentPromptOf(face, bytes)
  const sayings = shape === "text" ? [{ role: "user" as const, text: textOf(bytes) }] : shape === "many" ? conversation(bytes) : []
  const data = shape === "image" ? base64Of(bytes) : ""
  const uri = `data:image/png;base64,${data}`
  switch (face) {
    case "chat-completions":
      return {
        model: "m", temperature: 0.2,
        messages: shape === "image"
          ? [{ role: "user", content: [{ type: "text", text: question }, { type: "image_url", image_url: { url: uri } }] }]
          : sayings.map(({ role, text }) => ({ role, content: text }))
      }
    case "completions":
      return shape === "text" ? { model: "m", prompt: sayings[0]?.text } : null
    case "messages":
      return {
        model: "m", max_tokens: 1024,
        messages: shape === "image"
          ? [{ role: "user", content: [{ type: "text", text: question }, { type: "image", source: { type: "base64", media_type: "image/png", data } }] }]
          : sayings.map(({ role, text }) => ({ role, content: text }))
      }
    case "responses":
      return {
        model: "m",
        input: shape === "image"
          ? [{ role: "user", content: [{ type: "input_text", text: question }, { type: "input_image", image_url: uri, detail: "auto" }] }]
          : sayings.map(({ role, text }) => ({ role, content: text }))
      }
    case "generateContent":
      return {
        model: "m",
        contents: shape === "image"
          ? [{ role: "user", parts: [{ text: question }, { inlineData: { mimeType: "image/png", data } }] }]
          : sayings.map(({ role, text }) => ({ role: role === "user" ? "user" : "model", parts: [{ text }] }))
      }
    case "local-model-server":
      return {
        model: "m",
        messages: shape === "image"
          ? [{ role: "user", content: question, images: [data] }]
          : sayings.map(({ role, text }) => ({ role, content: text }))
      }
  }
}
