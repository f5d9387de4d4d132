/** An agent that an operator adds to those that the gateway looks for on its machine; part of the setting `customAgents`. */
import * as Schema from "effect/Schema"
import { listOf, text } from "#schemas/api/fields.ts"

export const settingKey = "customAgents"
/** Custom agents of a gateway. */
export const AGENTS_MAX = 50

/** A name without a path: it is looked up in PATH, so it can be no file that a caller brought along. */
const Binary = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/, { message: "Expected the name of a program without a path" }))
/** The arguments by which programs tell their version. Others could make a program do anything, such as `sh -c`. */
const versionArguments: ReadonlyArray<string> = ["--version", "-version", "-v", "-V", "version"]

export const AgentProtocol = Schema.Literals(["stdio", "http"])

const fields = {
  name: text(1, 100),
  binary: Binary,
  /** The binary and one argument, such as `aider --version`. */
  versionCommand: text(1, 200),
  /** The provider whose models it was made for. */
  providerAlias: Schema.NullOr(text(1, 100)),
  /** How an editor starts it; the gateway does not. */
  spawnArgs: listOf(text(0, 500), 50),
  protocol: AgentProtocol
}

const isVersionCommand = ({ binary, versionCommand }: { readonly binary: string; readonly versionCommand: string }): boolean => {
  const [program, argument, ...rest] = versionCommand.trim().split(/\s+/)
  return program === binary && argument !== undefined && versionArguments.includes(argument) && rest.length === 0
}

/** Why a version command is refused; null when it is not. */
export const versionIssue = (agent: { readonly binary: string; readonly versionCommand: string }): string | null => isVersionCommand(agent)
  ? null
  : `Expected ${agent.binary} and one of ${versionArguments.join(", ")}`

/** The arguments of a version command. */
export const argumentsOf = ({ versionCommand }: { readonly versionCommand: string }): ReadonlyArray<string> => versionCommand.trim().split(/\s+/).slice(1)

export const slugOf = (id: string): string => id.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-+|-+$/g, "")

export const NewCustomAgent = Schema.Struct({
  /** Becomes a lower-case slug. */
  id: text(1, 64).check(Schema.makeFilter((id: string) => slugOf(id) !== "" || "Expected letters or digits")),
  name: fields.name, binary: fields.binary, versionCommand: fields.versionCommand,
  providerAlias: Schema.optionalKey(fields.providerAlias), spawnArgs: Schema.optionalKey(fields.spawnArgs), protocol: Schema.optionalKey(fields.protocol)
})
export interface NewCustomAgent extends Schema.Schema.Type<typeof NewCustomAgent> {}

export const CustomAgent = Schema.Struct({
  id: text(1, 64).check(Schema.makeFilter((id: string) => id === slugOf(id) || "Expected lower-case letters, digits and hyphens")), ...fields
}).check(Schema.makeFilter((agent) => {
  const message = versionIssue(agent)
  return message === null || { path: ["versionCommand"], issue: message }
})).annotate({ identifier: "CustomAgent" })
export interface CustomAgent extends Schema.Schema.Type<typeof CustomAgent> {}

/** The whole setting: each id stands once. */
export const CustomAgents = Schema.Array(CustomAgent).check(
  Schema.isMaxLength(AGENTS_MAX),
  Schema.makeFilter((agents: ReadonlyArray<CustomAgent>) => new Set(agents.map(({ id }) => id)).size === agents.length || "Expected each id once")
)

const decode = Schema.decodeUnknownOption(CustomAgents)

/** Those that are stored; what another release stored in another form is none. */
export const customAgentsOf = (settings: ReadonlyMap<string, unknown>): ReadonlyArray<CustomAgent> => {
  const decoded = decode(settings.get(settingKey) ?? [])
  return decoded._tag === "Some" ? decoded.value : []
}
