/** The request of the playground as code of a vendor's client, or as a `curl` line. A key is never written into it. Pure. */
import { type Ask, bodyOf, type FormatName, formats } from "./formats.ts"

const KEY = "<key>"

/** How the code is run. */
export const languages = { curl: "curl", js: "JavaScript", py: "Python" } as const
export type Language = keyof typeof languages

type Body = Readonly<Record<string, unknown>>

interface Sdk {
  /** The line that makes the client, and the method that is called with the body's members. */
  readonly js: (url: string) => readonly [client: string, method: string]
  readonly py: (url: string) => readonly [client: string, method: string]
}

const openai = (method: string): Sdk => ({
  js: (url) => [`import OpenAI from "openai"\n\nconst client = new OpenAI({ baseURL: ${jsOf(`${url}/v1`)}, apiKey: "${KEY}" })`, `client.${method}`],
  py: (url) => [`from openai import OpenAI\n\nclient = OpenAI(base_url=${jsOf(`${url}/v1`)}, api_key="${KEY}")`, `client.${method}`]
})

const sdks: Readonly<Record<FormatName, Sdk>> = {
  "chat-completions": openai("chat.completions.create"),
  responses: openai("responses.create"),
  completions: openai("completions.create"),
  messages: {
    js: (url) => [`import Anthropic from "@anthropic-ai/sdk"\n\nconst client = new Anthropic({ baseURL: ${jsOf(url)}, authToken: "${KEY}" })`, "client.messages.create"],
    py: (url) => [`from anthropic import Anthropic\n\nclient = Anthropic(base_url=${jsOf(url)}, auth_token="${KEY}")`, "client.messages.create"]
  },
  generateContent: {
    js: (url) => [`import { GoogleGenAI } from "@google/genai"\n\nconst client = new GoogleGenAI({ apiKey: "${KEY}", httpOptions: { baseUrl: ${jsOf(url)} } })`, "client.models.generateContentStream"],
    py: (url) => [`from google import genai\n\nclient = genai.Client(api_key="${KEY}", http_options={"base_url": ${jsOf(url)}})`, "client.models.generate_content_stream"]
  },
  "local-model-server": {
    js: (url) => [`import { Ollama } from "ollama"\n\nconst client = new Ollama({ host: ${jsOf(`${url}/v1`)}, headers: { Authorization: "Bearer ${KEY}" } })`, "client.chat"],
    py: (url) => [`from ollama import Client\n\nclient = Client(host=${jsOf(`${url}/v1`)}, headers={"Authorization": "Bearer ${KEY}"})`, "client.chat"]
  }
}

const jsOf = (value: unknown): string => JSON.stringify(value)

/** JSON's own literals but for three words. */
const pyOf = (value: unknown): string => {
  if (value === null || value === undefined) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (Array.isArray(value)) return `[${value.map(pyOf).join(", ")}]`
  return typeof value === "object" ? `{${Object.entries(value).map(([name, member]) => `${jsOf(name)}: ${pyOf(member)}`).join(", ")}}` : jsOf(value)
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** What the client's method takes: Google's has a member `config` where the wire has several. */
const argumentsOf = (format: FormatName, ask: Ask, language: "js" | "py"): Body => {
  if (format !== "generateContent") return bodyOf(format, ask)
  const config = { systemInstruction: ask.system === "" ? null : ask.system, maxOutputTokens: ask.maxTokens, temperature: ask.temperature, ...ask.more }
  const given = Object.entries(config).filter(([, value]) => value !== null).map(([name, value]) => [language === "py" ? snake(name) : name, value])
  return { model: ask.model, contents: ask.prompt, ...(given.length === 0 ? {} : { config: Object.fromEntries(given) as Body }) }
}

/** `'` inside a shell's quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

export const codeOf = (language: Language, format: FormatName, ask: Ask, url: string, needsKey: boolean): string => {
  if (language === "curl") return `curl -N ${quoted(`${url}${formats[format].path(ask.model)}`)} \\\n  -H 'Content-Type: application/json'${needsKey ? ` -H 'Authorization: Bearer ${KEY}'` : ""} \\\n  -d ${quoted(jsOf(bodyOf(format, ask)))}`
  const [client, method] = sdks[format][language](url)
  const given = Object.entries(argumentsOf(format, ask, language))
  return language === "js"
    ? `${client}\nconst stream = await ${method}({\n${given.map(([name, value]) => `  ${name}: ${jsOf(value)}`).join(",\n")}\n})\nfor await (const event of stream) console.log(JSON.stringify(event))`
    : `${client}\nstream = ${method}(\n${given.map(([name, value]) => `    ${name}=${pyOf(value)}`).join(",\n")}\n)\nfor event in stream:\n    print(event)`
}
