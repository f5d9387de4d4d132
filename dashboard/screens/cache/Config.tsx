/** How answers are cached; each change is saved by itself. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, Switch, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"

type Settings = Answer<"GET /api/settings/cache-config">
type Change = Body<"PUT /api/settings/cache-config">

const numbers = [
  { name: "semanticCacheMaxSize", word: "Answers in memory", hint: "Of each node; older ones stay in the database." },
  { name: "semanticCacheTTL", word: "An answer is kept for, ms", hint: "1000 (a second) to 2592000000 (30 days)." },
  { name: "idempotencyWindowMs", word: "A repeated request gets its first answer within, ms", hint: "0 = never." }
] as const
const switches = [
  { name: "semanticCacheEnabled", word: "Store answers", hint: "Equal requests of the same key are answered from the store." },
  { name: "promptCacheEnabled", word: "Mark prompts for the vendors' caches", hint: "Where a vendor caches only what is marked." }
] as const
const strategies = ["auto", "system-only", "manual"] as const
const preserves = ["auto", "always", "never"] as const

const useSave = (config: Settings) => useChange("PUT /api/settings/cache-config", ["GET /api/settings/cache-config", "GET /api/cache"], undefined, {
  said: "The cache is set.",
  undo: (_, { body }) => () => call("PUT /api/settings/cache-config", { body: Object.fromEntries(Object.keys(body ?? {}).map((name) => [name, config[name as keyof Settings]])) as Change })
})

const Written = ({ config, hint, name, word }: { readonly config: Settings; readonly name: typeof numbers[number]["name"]; readonly word: string; readonly hint: string }) => {
  const stored = String(config[name])
  const [text, setText] = useState(stored)
  const save = useSave(config)
  return (
    <Form className="row-wide" onSubmit={() => save.mutate({ body: { [name]: Number(text) } })}>
      <TextField label={word} hint={hint} type="number" value={text} onChange={setText} wrong={wrongWith(save.error, name)} />
      <Button type="submit" kind="small" disabled={save.isPending || text === stored || text === ""} aria-label={`Save ${word}`}>Save</Button>
      <Failure what="The cache was not changed" error={save.error} />
    </Form>
  )
}

const Rows = ({ config }: { readonly config: Settings }) => {
  const save = useSave(config)
  return (
    <ul className="list">
      {switches.map(({ hint, name, word }) => (
        <li key={name} className="row-wide">
          <div className="stack-tight"><strong>{word}</strong><p className="small muted">{hint}</p></div>
          <Switch label={word} checked={config[name]} disabled={save.isPending} onChange={(on) => save.mutate({ body: { [name]: on } })} />
        </li>
      ))}
      <li className="grid-fields">
        <SelectField
          label="What is marked" value={config.promptCacheStrategy} disabled={save.isPending} choices={strategies} hint="Automatically, the system prompt only, or what clients mark"
          onChange={(promptCacheStrategy) => save.mutate({ body: { promptCacheStrategy } })}
        />
        <SelectField
          label="Marks of clients are kept" value={config.alwaysPreserveClientCache} disabled={save.isPending} choices={preserves}
          onChange={(alwaysPreserveClientCache) => save.mutate({ body: { alwaysPreserveClientCache } })}
        />
      </li>
      {save.error === null ? null : <li><Failure what="The cache was not changed" error={save.error} /></li>}
      {numbers.map((row) => <li key={row.name}><Written key={String(config[row.name])} config={config} {...row} /></li>)}
    </ul>
  )
}

export const Config = () => {
  const read = useRead("GET /api/settings/cache-config")
  return <Panel title="How answers are cached"><Loaded read={read} what="The configuration of the cache">{(config) => <Rows config={config} />}</Loaded></Panel>
}
