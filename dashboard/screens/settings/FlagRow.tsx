/** One flag: what it does, where its value comes from, and the way to change it. */
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange } from "../../api/query.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"
import { isOwned, Owned } from "../../parts/edit/Theirs.tsx"
import { Button } from "../../parts/Button.tsx"

export type Flag = Answer<"GET /api/settings/feature-flags">["flags"][number]

const sources: Readonly<Record<Flag["source"], string>> = { db: "set here", env: "from the environment", default: "default" }

export const FlagRow = ({ flag, onRestart }: { readonly flag: Flag; readonly onRestart: () => void }) => {
  const set = useChange("PUT /api/settings/feature-flags", ["GET /api/settings/feature-flags", "GET /api/guardrails"], ({ requiresRestart }) => {
    if (requiresRestart) onRestart()
  }, {
    said: ({ effectiveValue, key }) => `${key} is ${effectiveValue}.`,
    undo: ({ key, previousSource, previousValue }) => () => call("PUT /api/settings/feature-flags", { body: previousSource === "db" ? { key, value: previousValue } : { key } })
  })
  const change = (value: string): void => set.mutate({ body: { key: flag.key, value } })
  const isOff = !flag.acts || set.isPending || isOwned(flag)
  return (
    <li className="row-wide">
      <div className="stack-tight" style={{ flex: "1 1 12rem", minWidth: 0 }}>
        <div className="row">
          <strong className="wrap">{flag.label}</strong>
          <Owned record={flag} />
          {flag.acts ? null : <span className="tag">does not act in this release</span>}
          {flag.requiresRestart ? <span className="tag">needs a restart</span> : null}
        </div>
        <p className="small muted wrap">{flag.description}</p>
        <p className="small muted wrap"><code>{flag.key}</code>, {sources[flag.source]}{flag.source === "db" ? `; default ${flag.defaultValue}` : ""}</p>
        <Failure what="The flag was not changed" error={set.error} />
      </div>
      <div className="row">
        {flag.source === "db" && !isOwned(flag) ? <Button kind="small quiet" disabled={set.isPending} onClick={() => set.mutate({ body: { key: flag.key } })} aria-label={`Take back ${flag.label}`}>Take back</Button> : null}
        {flag.type === "boolean"
          ? <Switch checked={flag.effectiveValue === "true"} label={flag.label} disabled={isOff} onChange={(on) => change(String(on))} />
          : (
            <select className="select" style={{ width: "12rem" }} aria-label={flag.label} value={flag.effectiveValue} disabled={isOff} onChange={(event) => change(event.currentTarget.value)}>
              {(flag.enumValues ?? [flag.effectiveValue]).map((value) => <option key={value} value={value}>{value}</option>)}
            </select>
          )}
      </div>
    </li>
  )
}
