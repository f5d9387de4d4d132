/** How the dashboard looks in every browser: its name, pictures, theme and screens. A browser's own theme goes before the setting. */
import { call } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { areas, nameOf } from "../../app/screens.ts"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { Check } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Button } from "../../parts/Button.tsx"
import { type Change, Row, type Settings } from "./Common.tsx"

const useSetting = (name: "customFaviconUrl" | "customLogoUrl" | "hiddenSidebarItems", stored: Settings[string] | undefined) =>
  useChange("PATCH /api/settings", ["GET /api/settings"], undefined, { said: "The setting is changed.", undo: () => () => call("PATCH /api/settings", { body: { [name]: stored ?? null } }) })

const Picture = ({ name, stored, word }: { readonly name: "customFaviconUrl" | "customLogoUrl"; readonly word: string; readonly stored: Settings[string] | undefined }) => {
  const save = useSetting(name, stored)
  const change = (url: string | null): void => save.mutate({ body: { [name]: url } })
  const has = typeof stored === "string" && stored !== ""
  return (
    <li className="row-wide">
      <div className="stack-tight">
        <strong>{word}</strong>
        <p className="small muted">PNG, JPEG, GIF, WebP, AVIF, SVG or ICO, up to 350 kB. The gateway serves it itself.</p>
        <Failure what="The picture was not stored" error={save.error} />
      </div>
      <div className="row">
        {has ? <img className="picture" src={stored} alt={`${word} of now`} /> : null}
        <input
          type="file" accept="image/*" aria-label={word} disabled={save.isPending}
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? []
            if (file === undefined) return
            const reader = new FileReader()
            // Windows calls the type by an older name.
            reader.onload = () => change(String(reader.result).replace("image/vnd.microsoft.icon", "image/x-icon"))
            reader.readAsDataURL(file)
            currentTarget.value = ""
          }}
        />
        {has ? <Button kind="small" disabled={save.isPending} onClick={() => change(null)} aria-label={`Take ${word} away`}>Take away</Button> : null}
      </div>
    </li>
  )
}

const Hidden = ({ stored }: { readonly stored: Settings[string] | undefined }) => {
  const save = useSetting("hiddenSidebarItems", stored)
  const hidden = (Array.isArray(stored) ? stored : []) as NonNullable<Change["hiddenSidebarItems"]>
  return (
    <li className="stack-tight">
      <details>
        <summary>Screens in the rail</summary>
        <p className="small muted">Ctrl K, keys and addresses lead to the others, too.</p>
        <Failure what="The rail was not changed" error={save.error} />
        <div className="grid-fields">
          {areas.flatMap(({ screens }) => screens).map((screen) => {
            const name = nameOf(screen) as typeof hidden[number]
            return <Check key={name} checked={!hidden.includes(name)} onChange={(on) => save.mutate({ body: { hiddenSidebarItems: on ? hidden.filter((other) => other !== name) : [...hidden, name] } })}>{screen.word}</Check>
          })}
        </div>
      </details>
    </li>
  )
}

export const Looks = () => {
  const read = useRead("GET /api/settings")
  return (
    <Panel id="looks" title="Looks of the dashboard">
      <Loaded read={read} what="The settings" rows={6}>
        {(settings) => (
          <ul className="list">
            <Row row={{ name: "instanceName", kind: "text", word: "Name of this gateway", hint: "In the rail, at the door and in titles. Everybody sees it.", change: (text) => ({ instanceName: text === "" ? null : text }) }} value={settings["instanceName"]} />
            <Row row={{ name: "theme", kind: "choice", word: "Theme", hint: "Of browsers that chose none, when they load the page.", choices: (["system", "light", "dark"] as const).map((theme) => ({ value: theme, change: { theme } })) }} value={settings["theme"]} />
            <Row row={{ name: "comboConfigMode", kind: "choice", word: "Combo editor", hint: "expert: with all fields of the configuration as JSON, without templates.", choices: (["guided", "expert"] as const).map((comboConfigMode) => ({ value: comboConfigMode, change: { comboConfigMode } })) }} value={settings["comboConfigMode"]} />
            <Picture name="customLogoUrl" word="Logo" stored={settings["customLogoUrl"]} />
            <Picture name="customFaviconUrl" word="Icon of the tab" stored={settings["customFaviconUrl"]} />
            <Hidden stored={settings["hiddenSidebarItems"]} />
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}
