/** `gateway docs settings`: the page of every variable and flag. */
import * as path from "node:path"
import * as Catalogue from "#schemas/flags.ts"
import * as Settings from "#src/Settings.ts"
import { root, writeOrCheck } from "./generated.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const flags = (): string => [
  "| flag | default | values | restart | meaning |",
  "|---|---|---|---|---|",
  ...Catalogue.catalogue.map((flag) =>
    `| ${flag.key} | ${flag.defaultValue} | ${flag.enumValues === null ? "true, false" : flag.enumValues.join(", ")} | ${flag.requiresRestart ? "yes" : ""} | ${cell(flag.description)} |`)
].join("\n")

export const settingsPage = (): string => `# Settings

Made by \`gateway docs settings\` from \`src/Settings.ts\` and \`schemas/flags.ts\`; do not edit.

Variables come from, first to last: options of the command line (\`--port\`, \`--host\`, \`--data-dir\`), the process's environment, a
\`.env\` file in the working directory. An empty variable counts as unset. Values that cannot be used stop the start, and every
one of them is named; \`gateway doctor\` shows the same without starting.

## Variables

${Settings.markdown()}

Provider keys found under their usual names (\`OPENAI_API_KEY\`, \`ANTHROPIC_API_KEY\` ...) become connections at start.

## Feature flags

A flag's value is its override in the database (\`PUT /api/settings/feature-flags\`), else the variable of its name, else the
default. Booleans take true, 1, yes, on, false, 0, no and off in any case; the other flags take their values as written.

${flags()}
`

export const docsSettings = (options: { readonly check: boolean; readonly output: string | undefined }) =>
  writeOrCheck({ file: options.output ?? path.join(root, "docs", "settings.md"), content: settingsPage(), command: "gateway docs settings" }, options.check)
