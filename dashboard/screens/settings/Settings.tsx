/** Flags and settings: what each does, where its value comes from, and what needs a restart. */
import { Link, useLocation, useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { filled } from "../../format/members.ts"
import { categoryWord } from "../../format/flags.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Button } from "../../parts/Button.tsx"
import { CommonSettings, groups } from "./Common.tsx"
import { ConfigFile } from "./ConfigFile.tsx"
import { type Flag, FlagRow } from "./FlagRow.tsx"
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

type Place = Readonly<Record<"search" | "show", string>>

const isShown = (flag: Flag, show: string): boolean => show === "all" || (show === "changed" ? flag.source !== "default" : flag.acts)

const idOf = (category: string): string => `flags-${category.toLowerCase().replaceAll(/\W+/g, "-")}`

const Flags = ({ search, show }: Place) => {
  const navigate = useNavigate({ from: "/settings" })
  const read = useRead("GET /api/settings/feature-flags")
  const [waiting, setWaiting] = useState(false)
  const [restarting, setRestarting] = useState(false)
  const wanted = search.toLowerCase()
  return (
    <>
      {waiting ? <section className="panel panel-head" aria-label="Restart"><p>A change acts after a restart.</p><Button onClick={() => setRestarting(true)}>Restart</Button></section> : null}
      <Panel title="Flags" actions={read.data === undefined ? null : <span className="small muted number">{count(read.data.summary.active)} of {count(read.data.summary.total)} on, {count(read.data.summary.overriddenByDb)} set here</span>}>
        <Loaded read={read} what="The flags" rows={8}>
          {({ flags }) => {
            const shown = flags.filter((flag) => isShown(flag, show) && `${flag.key} ${flag.label} ${flag.description}`.toLowerCase().includes(wanted))
            if (shown.length === 0) return <Empty icon="search" title="No flag fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all that act</Button>} />
            const categories = [...new Set(shown.map(({ category }) => category))].sort()
            return categories.map((category) => (
              <section key={category} id={idOf(category)} tabIndex={-1} className="list-group" aria-label={category}>
                <h3>{categoryWord(category)}</h3>
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
    <details className="panel" id="json" tabIndex={-1}>
      <summary className="panel-head">All settings as JSON</summary>
      <div className="panel-body">
        <Loaded read={read} what="The settings">{(settings) => <pre className="well well-scroll" tabIndex={0} aria-label="Settings">{JSON.stringify(settings, null, 2)}</pre>}</Loaded>
        <p className="small muted">Change the others with <code>PATCH /api/settings</code>; the API reference says what each does.</p>
      </div>
    </details>
  )
}

/** Panels that no list of settings holds, and the words by which a search finds them. */
const others = [
  { id: "looks", word: "Looks", Part: Looks, words: "looks of the dashboard name theme logo icon favicon picture rail sidebar combo editor" },
  { id: "file", word: "Configuration file", Part: ConfigFile, words: "configuration file yaml gitops export download" },
  { id: "password", word: "Password", Part: Password, words: "password of the dashboard sign in" },
  { id: "sign-on", word: "Single sign-on", Part: SingleSignOn, words: "single sign-on oidc sso issuer client secret subjects who may sign in" }
] as const

/** Brings a part of the page under the eyes and under the keyboard; false: it is not drawn. */
const jump = (id: string): boolean => {
  const part = document.getElementById(id)
  part?.scrollIntoView()
  part?.focus({ preventScroll: true })
  return part !== null
}

/** Frames in which a part may still be drawn, once its data is there. */
const MOST_FRAMES = 60

const Index = ({ show }: Pick<Place, "show">) => {
  const flags = useRead("GET /api/settings/feature-flags").data?.flags
  const isRead = useRead("GET /api/settings").data !== undefined && flags !== undefined
  const { hash } = useLocation()
  const categories = [...new Set(flags?.filter((flag) => isShown(flag, show)).map(({ category }) => category))].sort()
  useEffect(() => {
    // What stands above has its size by then.
    if (!isRead || hash === "") return
    let frame = 0
    let left = MOST_FRAMES
    const look = (): void => {
      if (jump(hash) || --left === 0) return
      frame = requestAnimationFrame(look)
    }
    look()
    return () => cancelAnimationFrame(frame)
  }, [hash, isRead])
  const link = (id: string, word: string) => <li key={id}><Link to="/settings" search={true} hash={id} hashScrollIntoView={false} onClick={() => void jump(id)}>{word}</Link></li>
  return (
    <nav className="panel panel-body index" aria-label="On this page">
      {categories.length === 0 ? null : <div><h2>Flags</h2><ul>{categories.map((category) => link(idOf(category), categoryWord(category)))}</ul></div>}
      <div><h2>Settings</h2><ul>{groups.map(({ id, word }) => link(id, word))}</ul></div>
      <div><h2>More</h2><ul>{others.map(({ id, word }) => link(id, word))}{link("json", "All as JSON")}</ul></div>
    </nav>
  )
}

const Settings = () => {
  const { search = "", show = "" } = useSearch({ from: "/settings" })
  const navigate = useNavigate({ from: "/settings" })
  const set = (change: Partial<Place>): void => void navigate({ search: filled({ search, show, ...change }), replace: true })
  const wanted = search.toLowerCase()
  return (
    <Page title="Settings & flags" lead="Flags act at once on every node, if nothing else is said.">
      <div className="filters">
        <TextField className="field-wide" label="Find" type="search" value={search} placeholder="A flag or a setting: name or what it does" onChange={(value) => set({ search: value })} />
        <SelectField label="Show" value={show} choices={shows} onChange={(value) => set({ show: value })} />
      </div>
      {search === "" ? <Index show={show} /> : null}
      <Flags search={search} show={show} />
      <CommonSettings search={search} />
      {others.map(({ Part, id, words }) => words.includes(wanted) ? <Part key={id} /> : null)}
      {search === "" ? <Stored /> : null}
    </Page>
  )
}

export default Settings
