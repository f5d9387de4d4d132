/**
 * What coding agents may learn of this gateway: one page for each group of its HTTP interface and for each command, made from their own
 * descriptions. A page is a SKILL.md file (agentskills.io): `name` and `description` in front, then Markdown. Pure.
 */
import type { Described } from "#src/management/Assembled.ts"
import type { AgentSkill } from "./AgentSkill.ts"

export interface Entry {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly category: "api" | "cli"
  readonly area: string
  readonly markdown: string
}

/** Longest description of the form. */
const DESCRIPTION_MAX = 1_024

const slugOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "")
/** A JSON text is a text of YAML. */
const quoted = (text: string): string => JSON.stringify(text)
const sentence = (text: string): string => text === "" || /[.!?]$/.test(text) ? text : `${text}.`

const pageOf = (front: Readonly<Record<string, string>>, body: ReadonlyArray<string>): string =>
  ["---", ...Object.entries(front).map(([name, value]) => `${name}: ${value}`), "---", "", ...body, ""].join("\n")

const ofGroup = ({ description, name, operations }: Described["groups"][number]): Entry => {
  const area = slugOf(name)
  const id = `api-${area}`
  const about = `${name} over the gateway's HTTP interface. ${sentence(description.replaceAll(/\s+/g, " "))}`.slice(0, DESCRIPTION_MAX).trim()
  return {
    id, name, category: "api", area, description: about,
    markdown: pageOf({ name: id, description: quoted(about) }, [
      `# ${name}`, "", sentence(description), "",
      "Send `Authorization: Bearer <credential>`: an API key for inference, an access token or a key with scope `manage` for management.",
      "`GET /openapi.json` has the fields of every call.", "", "## Calls", "",
      ...operations.map(({ method, path, summary }) => `- \`${method} ${path}\`${summary === "" ? "" : `: ${summary}`}`)
    ])
  }
}

const ofCommand = ({ description, help, name }: Described["commands"][number]): Entry => {
  const id = `cli-${slugOf(name)}`
  const about = `The command \`gateway ${name}\`. ${sentence(description)}`.slice(0, DESCRIPTION_MAX).trim()
  return {
    id, name: `gateway ${name}`, category: "cli", area: slugOf(name), description: about,
    markdown: pageOf({ name: id, description: quoted(about) }, [
      `# gateway ${name}`, "", sentence(description), "", ...help.flatMap((text) => ["```text", text, "```", ""])
    ]).trimEnd() + "\n"
  }
}

export const entriesOf = ({ commands, groups }: Described): ReadonlyArray<Entry> => [...groups.map(ofGroup), ...commands.map(ofCommand)]

/** The page of an operator's own skill. */
export const ownPage = ({ description, model, name, prompt, temperature }: AgentSkill): string => pageOf({
  name, description: quoted(description),
  // Texts only: the form knows no other values here.
  ...(model === null && temperature === null ? {} : {
    metadata: `\n${[...(model === null ? [] : [`  model: ${quoted(model)}`]), ...(temperature === null ? [] : [`  temperature: ${quoted(String(temperature))}`])].join("\n")}`
  })
}, [prompt.trimEnd()])

export interface Plan {
  readonly generated: ReadonlyArray<Entry>
  readonly unchanged: ReadonlyArray<string>
  /** Stored pages without an entry. */
  readonly orphans: ReadonlyArray<string>
  readonly errors: ReadonlyArray<{ readonly id: string; readonly message: string }>
}

/** What a generation does: `stored` are the pages by id, `onlyIds` null for all. */
export const planOf = (entries: ReadonlyArray<Entry>, stored: ReadonlyMap<string, string>, onlyIds: ReadonlyArray<string> | null): Plan => {
  const known = new Set(entries.map(({ id }) => id))
  const wanted = onlyIds === null ? entries : entries.filter(({ id }) => onlyIds.includes(id))
  return {
    generated: wanted.filter(({ id, markdown }) => stored.get(id) !== markdown),
    unchanged: wanted.filter(({ id, markdown }) => stored.get(id) === markdown).map(({ id }) => id),
    orphans: [...stored.keys()].filter((id) => !known.has(id)).sort(),
    errors: [...new Set(onlyIds ?? [])].filter((id) => !known.has(id)).map((id) => ({ id, message: "The catalogue has no such entry" }))
  }
}
