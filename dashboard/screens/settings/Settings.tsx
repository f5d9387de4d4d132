/** Flags and settings: what each does, where its value comes from, and what needs a restart. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { CommonSettings } from "./Common.tsx"
import { ConfigFile } from "./ConfigFile.tsx"
import { FlagRow } from "./FlagRow.tsx"
import { Looks } from "./Looks.tsx"
import { Password } from "./Password.tsx"
import { SingleSignOn } from "./SingleSignOn.tsx"

const shows = [
  { value: "", word: "Flags that act" }, { value: "changed", word: "Changed flags" }, { value: "all", word: "All flags" }
]

const Restart = ({ onClose }: { readonly onClose: () => void }) => {
  const restart = useChange("POST /api/restart", [], onClose)
  return (
    <Confirm title="Restart the gateway?" confirm="Restart" pending={restart.isPending} onClose={onClose} onConfirm={() => restart.mutate({})} failed="The gateway was not restarted" error={restart.error}>
      <p>Running streams get their grace time first. The page waits and goes on by itself.</p>
    </Confirm>
  )
}

const Flags = () => {
  const { search = "", show = "" } = useSearch({ from: "/settings" })
  const navigate = useNavigate({ from: "/settings" })
  const read = useRead("GET /api/settings/feature-flags")
  const [waiting, setWaiting] = useState(false)
  const [restarting, setRestarting] = useState(false)
  const set = (change: { readonly search?: string; readonly show?: string }): void => void navigate({ search: Object.fromEntries(Object.entries({ search, show, ...change }).filter(([, value]) => value !== "")), replace: true })
  const wanted = search.toLowerCase()
  return (
    <>
      {waiting ? <section className="panel panel-head" aria-label="Restart"><p>A change acts after a restart.</p><button type="button" className="button" onClick={() => setRestarting(true)}>Restart</button></section> : null}
      <Panel title="Flags" actions={read.data === undefined ? null : <span className="small muted number">{count(read.data.summary.active)} of {count(read.data.summary.total)} on, {count(read.data.summary.overriddenByDb)} set here</span>}>
        <div className="panel-head">
          <div className="filters">
            <TextField className="field-wide" label="Find" type="search" value={search} placeholder="A flag or a setting: name or what it does" onChange={(value) => set({ search: value })} />
            <SelectField label="Show" value={show} choices={shows} onChange={(value) => set({ show: value })} />
          </div>
        </div>
        <Loaded read={read} what="The flags" rows={8}>
          {({ flags }) => {
            const shown = flags.filter((flag) => (show === "all" || (show === "changed" ? flag.source !== "default" : flag.acts)) && `${flag.key} ${flag.label} ${flag.description}`.toLowerCase().includes(wanted))
            if (shown.length === 0) return <Empty icon="search" title="No flag fits" action={<button type="button" className="button" onClick={() => void navigate({ search: {} })}>Show all that act</button>} />
            const categories = [...new Set(shown.map(({ category }) => category))].sort()
            return categories.map((category) => (
              <section key={category} className="list-group" aria-label={category}>
                <h3>{category}</h3>
                <ul className="list">{shown.filter((flag) => flag.category === category).map((flag) => <FlagRow key={flag.key} flag={flag} onRestart={() => setWaiting(true)} />)}</ul>
              </section>
            ))
          }}
        </Loaded>
      </Panel>
      {restarting ? <Restart onClose={() => setRestarting(false)} /> : null}
    </>
  )
}

const Stored = () => {
  const read = useRead("GET /api/settings")
  return (
    <details className="panel">
      <summary className="panel-head">All settings as JSON</summary>
      <div className="panel-body">
        <Loaded read={read} what="The settings">{(settings) => <pre className="well well-scroll" tabIndex={0} aria-label="Settings">{JSON.stringify(settings, null, 2)}</pre>}</Loaded>
        <p className="small muted">Change the others with <code>PATCH /api/settings</code>; the API reference says what each does.</p>
      </div>
    </details>
  )
}

const Settings = () => {
  const { search = "" } = useSearch({ from: "/settings" })
  return (
    <Page title="Settings & flags" lead="Flags act at once on every node, if nothing else is said.">
      <Flags />
      <CommonSettings search={search} />
      <Looks search={search} />
      <ConfigFile />
      <Password />
      <SingleSignOn />
      <Stored />
    </Page>
  )
}

export default Settings
