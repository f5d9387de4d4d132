/** Settings that act at once and are often asked for; each is saved by itself. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, Switch, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Button } from "../../parts/Button.tsx"

export type Change = Body<"PATCH /api/settings">
export type Settings = Answer<"GET /api/settings">

interface Common {
  readonly name: keyof Change
  readonly word: string
  readonly hint: string
}

interface OnOff extends Common {
  readonly kind: "switch"
  readonly change: (on: boolean) => Change
}

interface Written extends Common {
  readonly kind: "text" | "number"
  readonly change: (text: string) => Change
}

interface Chosen extends Common {
  readonly kind: "choice"
  readonly choices: ReadonlyArray<{ readonly value: string; readonly change: Change }>
}

const selections = [
  "priority", "weighted", "fill-first", "round-robin", "p2c", "random", "least-used", "cost-optimized", "strict-random"
] as const

/** By what they are about. */
export const groups: ReadonlyArray<{ readonly id: string; readonly word: string; readonly rows: ReadonlyArray<OnOff | Written | Chosen> }> = [
  {
    id: "access", word: "Access",
    rows: [
      { name: "bruteForceProtection", kind: "switch", word: "Lock sign-in after wrong passwords", hint: "Per address, for a growing time.", change: (bruteForceProtection) => ({ bruteForceProtection }) },
      { name: "wsAuth", kind: "switch", word: "WebSockets need a key", hint: "Even where other requests need none.", change: (wsAuth) => ({ wsAuth }) },
      { name: "corsOrigins", kind: "text", word: "Pages that may read answers", hint: "Origins such as https://chat.example.com, separated by commas.", change: (text) => ({ corsOrigins: text === "" ? null : text }) }
    ]
  },
  {
    id: "routing", word: "Routing",
    rows: [
      { name: "autoRoutingEnabled", kind: "switch", word: "Automatic combos", hint: "auto and its variants can be asked for as models.", change: (autoRoutingEnabled) => ({ autoRoutingEnabled }) },
      {
        name: "fallbackStrategy", kind: "choice", word: "Choice among connections of one provider", hint: "A combo may say otherwise.",
        choices: selections.map((fallbackStrategy) => ({ value: fallbackStrategy, change: { fallbackStrategy } }))
      },
      {
        name: "alwaysPreserveClientCache", kind: "choice", word: "Keep the clients' cache marks", hint: "Marks in a prompt that tell a provider what to cache.",
        choices: (["auto", "always", "never"] as const).map((alwaysPreserveClientCache) => ({ value: alwaysPreserveClientCache, change: { alwaysPreserveClientCache } }))
      },
      { name: "sessionAffinityTtlMs", kind: "number", word: "A session stays on its connection for, ms", hint: "0 = no longer than a request.", change: (text) => ({ sessionAffinityTtlMs: Number(text) }) }
    ]
  },
  {
    id: "requests", word: "Requests and tools",
    rows: [
      { name: "maxBodySizeMb", kind: "number", word: "Largest request body, MB", hint: "1 to 512.", change: (text) => ({ maxBodySizeMb: Number(text) }) },
      { name: "idempotencyWindowMs", kind: "number", word: "Equal requests are answered once within, ms", hint: "0 = never.", change: (text) => ({ idempotencyWindowMs: Number(text) }) },
      { name: "usageTokenBuffer", kind: "number", word: "Tokens added to the usage that clients see", hint: "0 to 50000; agents compact earlier. The records keep the real numbers.", change: (text) => ({ usageTokenBuffer: Number(text) }) },
      { name: "mcpEnabled", kind: "switch", word: "Tools for agents", hint: "The MCP server answers.", change: (mcpEnabled) => ({ mcpEnabled }) },
      { name: "logToolSources", kind: "switch", word: "Log the tools of requests", hint: "Their names, and whether the client, the vendor or an MCP server runs them. Never of keys with noLog.", change: (logToolSources) => ({ logToolSources }) }
    ]
  },
  {
    id: "pictures", word: "Pictures for models that cannot take them",
    rows: [
      { name: "visionBridgeModel", kind: "text", word: "Model that describes pictures", hint: "A model or combo that takes pictures. Its calls are calls of the request's key.", change: (text) => ({ visionBridgeModel: text === "" ? null : text }) },
      { name: "visionBridgeEnabled", kind: "switch", word: "Describe pictures", hint: "A description takes the place of each picture. Needs the model above.", change: (visionBridgeEnabled) => ({ visionBridgeEnabled }) },
      { name: "visionBridgePrompt", kind: "text", word: "What the model is asked", hint: "Empty = what the picture shows, and the texts in it.", change: (text) => ({ visionBridgePrompt: text === "" ? null : text }) },
      { name: "visionBridgeTimeout", kind: "number", word: "Time for one description, ms", hint: "0 = 30000.", change: (text) => ({ visionBridgeTimeout: Number(text) }) },
      { name: "visionBridgeMaxImages", kind: "number", word: "Most pictures of one request", hint: "0 = 10. The last ones are described.", change: (text) => ({ visionBridgeMaxImages: Number(text) }) }
    ]
  },
  {
    id: "kept", word: "Kept prompts and answers",
    rows: [
      { name: "callLogBodies", kind: "switch", word: "Keep prompts and answers of calls", hint: "Sealed and without credentials, in the request's details. Never of keys with noLog.", change: (callLogBodies) => ({ callLogBodies }) },
      { name: "callLogBodyShare", kind: "number", word: "Share of the calls whose bodies are kept", hint: "0 to 1.", change: (text) => ({ callLogBodyShare: Number(text) }) },
      { name: "callLogBodyMaxKb", kind: "number", word: "Most of one kept body, kB", hint: "1 to 1024; the rest is cut.", change: (text) => ({ callLogBodyMaxKb: Number(text) }) },
      { name: "callLogBodyTotalMb", kind: "number", word: "Most of all kept bodies, MB", hint: "The oldest go first.", change: (text) => ({ callLogBodyTotalMb: Number(text) }) },
      { name: "callLogBodyHours", kind: "number", word: "Bodies are kept for, hours", hint: "1 to 8760.", change: (text) => ({ callLogBodyHours: Number(text) }) }
    ]
  }
]

const shown = (value: Settings[string] | undefined): string => value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)

export const Row = ({ row, value }: { readonly row: OnOff | Written | Chosen; readonly value: Settings[string] | undefined }) => {
  const save = useChange("PATCH /api/settings", ["GET /api/settings"], undefined, {
    said: "The setting is changed.", undo: () => typeof value === "object" && value !== null ? null : () => call("PATCH /api/settings", { body: { [row.name]: value ?? null } })
  })
  const [text, setText] = useState(shown(value))
  const stored = shown(value)
  const patch = (body: Change): void => save.mutate({ body })
  return (
    <li className="row-wide">
      <div className="stack-tight" style={{ flex: "1 1 12rem", minWidth: 0 }}>
        {row.kind === "switch" ? <strong>{row.word}</strong> : null}
        {row.kind === "switch" ? <p className="small muted">{row.hint}</p> : null}
        {row.kind === "choice" ? (
          <SelectField label={row.word} hint={row.hint} value={stored} disabled={save.isPending} choices={[...(row.choices.some((choice) => choice.value === stored) ? [] : [{ value: stored, word: stored === "" ? "not set" : stored }]), ...row.choices.map((choice) => ({ value: choice.value, word: choice.value }))]}
            onChange={(chosen) => {
              const change = row.choices.find((choice) => choice.value === chosen)?.change
              if (change !== undefined) patch(change)
            }} />
        ) : null}
        {row.kind === "text" || row.kind === "number" ? <TextField label={row.word} hint={row.hint} type={row.kind} value={text} onChange={setText} placeholder="not set" /> : null}
        <Failure what="The setting was not changed" error={save.error} />
      </div>
      {row.kind === "switch" ? <Switch checked={value === true} label={row.word} disabled={save.isPending} onChange={(on) => patch(row.change(on))} /> : null}
      {row.kind === "text" || row.kind === "number" ? <Button kind="small" disabled={save.isPending || text === stored || row.kind === "number" && text === ""} onClick={() => patch(row.change(text))} aria-label={`Save ${row.word}`}>Save</Button> : null}
    </li>
  )
}

/** `search`: those whose name or meaning has it. */
export const CommonSettings = ({ search }: { readonly search: string }) => {
  const read = useRead("GET /api/settings")
  const wanted = search.toLowerCase()
  const found = groups.map((group) => ({ ...group, rows: group.rows.filter(({ hint, name, word }) => `${name} ${word} ${hint}`.toLowerCase().includes(wanted)) })).filter(({ rows }) => rows.length > 0)
  return (
    <Panel title="Settings">
      <Loaded read={read} what="The settings" rows={6}>
        {(settings) => found.length === 0 ? <Empty icon="search" title="No setting fits" /> : found.map(({ id, rows, word }) => (
          <section key={id} id={id} tabIndex={-1} className="list-group" aria-label={word}>
            <h3>{word}</h3>
            <ul className="list">{rows.map((row) => <Row key={row.name} row={row} value={settings[row.name]} />)}</ul>
          </section>
        ))}
      </Loaded>
    </Panel>
  )
}
