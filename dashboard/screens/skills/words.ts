/** Skills as the page reads them: the draft of one, and what a save would send. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import { changedIn } from "../../format/members.ts"
import type { Tone } from "../../parts/Status.tsx"

export type Skill = Answer<"GET /api/skills">["data"][number]
export type Execution = Answer<"GET /api/skills/executions">["data"][number]
export type Json = Execution["output"]

export const states: Readonly<Record<Execution["status"], { readonly tone: Tone; readonly word: string }>> = {
  pending: { tone: "info", word: "Waits" }, running: { tone: "info", word: "Runs" }, success: { tone: "ok", word: "Done" }, error: { tone: "bad", word: "Failed" }, timeout: { tone: "bad", word: "Too late" }
}

export const fullName = ({ name, version }: Pick<Skill, "name" | "version">): string => `${name}@${version}`
/** Either of two switches keeps it from running. */
export const isOn = ({ enabled, mode }: Skill): boolean => enabled && mode === "on"

export interface Draft {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly handler: string
  /** JSON. */
  readonly input: string
  readonly output: string
  /** Empty: any key. */
  readonly key: string
  /** With commas. */
  readonly tags: string
}

const example = "return { greeting: `Hello, ${input.name}` }"
const pretty = (value: Json): string => JSON.stringify(value, null, 2)

export const draftOf = (skill: Skill | null): Draft => ({
  name: skill?.name ?? "", version: skill?.version ?? "1.0.0", description: skill?.description ?? "", handler: skill?.handler ?? example, input: pretty(skill?.schema.input ?? {}), output: pretty(skill?.schema.output ?? {}),
  key: skill?.apiKeyId ?? "", tags: skill?.tags.join(", ") ?? ""
})

/** Undefined: it is no JSON. */
export const jsonOf = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Undefined: it is no JSON object. */
export const schemaOf = (text: string): Skill["schema"]["input"] | undefined => {
  const value = jsonOf(text)
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Skill["schema"]["input"] : undefined
}

const sameOf = ({ description, input, name, output, tags }: Draft) =>
  ({ name, description, schema: { input: schemaOf(input) ?? {}, output: schemaOf(output) ?? {} }, tags: tags.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "") })

export const newOf = (draft: Draft): Body<"POST /api/skills/install"> => ({ ...sameOf(draft), version: draft.version, handlerCode: draft.handler, ...(draft.key === "" ? {} : { apiKeyId: draft.key }) })

/** Only what differs from what is stored. */
export const changeOf = (draft: Draft, stored: Skill): Body<"PUT /api/skills/:id"> => {
  return changedIn({ ...sameOf(draft), handler: draft.handler }, stored)
}

/** The fields of a change, as they are stored. */
export const backOf = (change: object | undefined, stored: Skill): Body<"PUT /api/skills/:id"> => Object.fromEntries(Object.keys(change ?? {}).map((name) => [name, stored[name as keyof Skill]]))
