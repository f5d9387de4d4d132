/** `gateway docs settings`, `docs limits` and `docs providers`: pages that are made from tables of the sources. */
import * as path from "node:path"
import { featureNames, features } from "#schemas/acting/features.ts"
import { acting as tables } from "#src/Management.ts"
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import type { EndpointName, Provider } from "#schemas/Provider.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"
import * as Registry from "#src/providers/Registry.ts"
import { root, writeOrCheck } from "./generated.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const flags = (): string => [
  "| flag | default | values | restart | meaning |",
  "|---|---|---|---|---|",
  ...FlagCatalogue.catalogue.filter(({ lacks }) => lacks === null).map((flag) =>
    `| ${flag.key} | ${flag.defaultValue} | ${flag.enumValues === null ? "true, false" : flag.enumValues.join(", ")} | ${flag.requiresRestart ? "yes" : ""} | ${cell(flag.description)} |`)
].join("\n")

export const settingsPage = (): string => `# Settings

Made by \`gateway docs settings\` from \`src/platform/configuration/Settings.ts\` and \`schemas/flagCatalogue.ts\`; do not edit.

Variables come from, first to last: options of the command line (\`--port\`, \`--host\`, \`--data-dir\`), the process's environment, a
\`.env\` file in the working directory. An empty variable counts as unset. Values that cannot be used stop the start, and every
one of them is named; \`gateway doctor\` shows the same without starting.

## Variables

${Settings.markdown()}

Provider keys found under their usual names (\`OPENAI_API_KEY\`, \`ANTHROPIC_API_KEY\` ...) become connections at start.

## Feature flags

A flag's value is its override in the database (\`PUT /api/settings/feature-flags\`), else the variable of its name, else the
default. Booleans take true, 1, yes, on, false, 0, no and off, the other flags their values; both in any case. The flags that
nothing reads yet are listed in [known-limits.md](known-limits.md).

${flags()}
`

export const docsSettings = (options: { readonly check: boolean; readonly output: string | undefined }) =>
  writeOrCheck({ file: options.output ?? path.join(root, "docs", "settings.md"), content: settingsPage(), command: "gateway docs settings" }, options.check)

const inertFields = tables.flatMap(({ record, rows }) =>
  Object.entries(rows).flatMap(([field, row]) => row.acts ? [] : [{ record, field, lacks: row.lacks, neutral: row.neutral }]))

const limitsOf = (name: (typeof featureNames)[number]): string => {
  const { paths, title, today } = features[name]
  const fields = inertFields.filter(({ lacks }) => lacks === name)
  const flagKeys = FlagCatalogue.catalogue.filter(({ lacks }) => lacks === name).map(({ key }) => `\`${key}\``)
  return [
    `## ${title}`,
    "",
    today,
    "",
    ...(paths.length === 0 ? [] : [`- Paths that answer 404: ${paths.map((path) => `\`${path}\``).join(", ")}`]),
    ...tables.map(({ record }) => ({ record, own: fields.filter((field) => field.record === record) })).filter(({ own }) => own.length > 0)
      .map(({ own, record }) => `- ${record}: ${own.map(({ field, neutral }) => `\`${field}\` (\`${JSON.stringify(neutral)}\`)`).join(", ")}`),
    ...(flagKeys.length === 0 ? [] : [`- Feature flags: ${flagKeys.join(", ")}`])
  ].join("\n").trimEnd()
}

export const limitsPage = (): string => `# Known limits

Made by \`gateway docs limits\` from \`schemas/acting\`; do not edit. \`GET /api/system/capabilities\` answers the same from a running
gateway.

A field, a setting or a feature flag either acts or is refused: nothing is stored in silence. A field that does not act takes its
neutral value only, which is shown in parentheses. Any other value is answered with 400 \`not_supported_yet\`, and \`details\` names
the field. A feature flag that does not act is listed with \`acts: false\` and takes its default only. ${inertFields.length} fields and ${FlagCatalogue.catalogue.filter(({ lacks }) => lacks !== null).length} of ${FlagCatalogue.catalogue.length} flags do not act.

${featureNames.map(limitsOf).join("\n\n")}
`

export const docsLimits = (options: { readonly check: boolean; readonly output: string | undefined }) =>
  writeOrCheck({ file: options.output ?? path.join(root, "docs", "known-limits.md"), content: limitsPage(), command: "gateway docs limits" }, options.check)

const conversationPaths: ReadonlyArray<EndpointName> = ["chat-completions", "messages", "responses"]

const formatsOf = (row: Provider): string => {
  const others = conversationPaths.filter((name) => name !== row.wireFormat && row.paths?.[name] !== undefined)
  return [row.wireFormat, ...others].join(", ")
}

/** What a connection must fill in: `{region}` of the base URL and of the paths. */
const placeholdersOf = (row: Provider): string => {
  const text = [row.baseUrl, row.chatPath ?? "", ...Object.values(row.paths ?? {})].join(" ")
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").filter((name) => name !== "model")
  const wanted = [...new Set(names)].map((name) => row.defaults?.[name] === undefined ? `\`${name}\`` : `\`${name}\` (${row.defaults[name]})`)
  return (row.baseUrl === "" ? ["`baseUrl`", ...wanted] : wanted).join(", ")
}

const variablesOf = (row: Provider): string => row.env.map((name) => `\`${name}\``).join(", ")

const providerRow = (row: Provider): string =>
  `| \`${row.id}\` | \`${row.alias}\` | ${cell(row.name)} | ${formatsOf(row)} | ${row.authKinds.join(", ")} | ${variablesOf(row)} | ${placeholdersOf(row)} | ${
    row.freeTier ? "yes" : ""} | ${row.models.filter((model) => model.kind === "chat").length} |`

export const providersPage = (): string => {
  const rows = Registry.builtin.all
  const chat = rows.filter((row) => row.wireFormat !== "none")
  const others = rows.filter((row) => row.wireFormat === "none")
  return `# Providers

Made by \`gateway docs providers\` from \`src/providers/data\`; do not edit. On a running gateway \`GET /v1/models\`
lists the models of the connected providers.

Call a model as \`<provider>/<model>\`; the alias may stand in place of the id. A server that is not in this list is a
[provider node](concepts.md#objects).

## Providers of conversations

The first format is the main one. The gateway uses another one of the row when the client speaks it, so that the bytes pass unchanged.
A variable under the name in the table becomes a connection at start. "Give" lists fields of \`providerSpecificData\`, with their defaults
in parentheses. "Models" counts the chat models that the registry knows; a model that it does not know is passed on by its id.

| id | alias | name | formats | sign-in | variable | give | free tier | models |
|---|---|---|---|---|---|---|---|---|
${chat.map(providerRow).join("\n")}

## Providers without conversations

\`POST /v1/embeddings\` reaches the rows of the kind \`embedding\`. [Known limits](known-limits.md) lists the endpoints that are not built.

| id | alias | name | kinds | sign-in | variable |
|---|---|---|---|---|---|
${others.map((row) => `| \`${row.id}\` | \`${row.alias}\` | ${cell(row.name)} | ${row.modalities.join(", ")} | ${row.authKinds.join(", ")} | ${variablesOf(row)} |`).join("\n")}
`
}

export const docsProviders = (options: { readonly check: boolean; readonly output: string | undefined }) =>
  writeOrCheck({ file: options.output ?? path.join(root, "docs", "providers.md"), content: providersPage(), command: "gateway docs providers" }, options.check)
