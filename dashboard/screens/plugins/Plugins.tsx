/** Code of the operator's that sees conversations: installed, switched on and off, set, and taken away. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Actions, Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { hooksOf, type Plugin } from "./config.ts"
import { Configure } from "./Configure.tsx"
import { Install } from "./Install.tsx"

const EVERY_MS = 10_000

type Open = { readonly what: "install" } | { readonly what: "configure" | "remove"; readonly plugin: Plugin } | null

const states: Readonly<Record<Plugin["status"], { readonly tone: Tone; readonly word: string }>> = {
  active: { tone: "ok", word: "Active" }, inactive: { tone: "off", word: "Off" }, installed: { tone: "off", word: "Never active" }, error: { tone: "bad", word: "Broken" }
}

const touched = ["GET /api/plugins"] as const

const Row = ({ onOpen, plugin }: { readonly plugin: Plugin; readonly onOpen: (what: "configure" | "remove") => void }) => {
  const { activatedAt, author, description, errorMessage, failMode, hookTimeoutMs, installedAt, integrity, license, name, status, version } = plugin
  const params = { name }
  const activate = useChange("POST /api/plugins/:name/activate", touched, undefined, { said: `${name} is active.`, undo: () => () => call("POST /api/plugins/:name/deactivate", { params }) })
  const deactivate = useChange("POST /api/plugins/:name/deactivate", touched, undefined, { said: `${name} is off.`, undo: () => () => call("POST /api/plugins/:name/activate", { params }) })
  const error = activate.error ?? deactivate.error
  // One whose hook failed is broken from then on.
  const put = (on: boolean): void => (on ? activate : deactivate).mutate({ params }, { onError: () => void queryClient.invalidateQueries({ queryKey: touched }) })
  // A broken one that lets nothing pass is in force, too: it can be switched off.
  const isOn = status === "active" || (status === "error" && activatedAt !== null)
  return (
    <>
      <tr>
        <td><strong className="wrap">{name}</strong> <span className="small muted">{version}</span><p className="small muted wrap">{description === "" ? [author, license].filter((part) => part !== "").join(", ") : description}</p></td>
        <td><Status {...states[status]} />{errorMessage === null ? null : <p className="small wrap">{errorMessage}</p>}</td>
        <td className="nowrap">{hooksOf(plugin).map((hook) => <p key={hook}>{hook}</p>)}</td>
        <td>{failMode === "closed" ? "is refused" : "goes on"}<p className="small muted nowrap">after {duration(hookTimeoutMs)}</p></td>
        <td><Ago at={installedAt} /></td>
        <td><Copy value={integrity} most={15} /></td>
        <Actions>
          <Switch checked={isOn} label={`${name} is active`} disabled={activate.isPending || deactivate.isPending} onChange={put} />
          <IconButton icon="settings" word="Settings" of={`of ${name}`} disabled={Object.keys(plugin.configSchema).length === 0} onClick={() => onOpen("configure")} />
          <IconButton icon="trash" word="Remove" of={name} onClick={() => onOpen("remove")} />
        </Actions>
      </tr>
      {error === null ? null : <tr><td colSpan={7}><Failure what={`${name} was not switched`} error={error} /></td></tr>}
    </>
  )
}

const Plugins = () => {
  const read = useRead("GET /api/plugins", {}, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const remove = useChange("DELETE /api/plugins/:name", touched, close, { said: "The plugin is removed." })
  const install = <Button kind="primary" onClick={() => setOpen({ what: "install" })}><Icon name="plus" size={16} />Install a plugin</Button>
  return (
    <Page title="Plugins" lead="JavaScript of yours that sees conversations. It may change or refuse a request, and change a whole answer. Each active one has a sandbox." actions={install}>
      <Panel title="Installed" actions={read.data === undefined ? null : <span className="small muted number">{count(read.data.plugins.filter(({ status }) => status === "active").length)} of {count(read.data.plugins.length)} active</span>}>
        <Loaded read={read} what="The plugins">
          {({ plugins }) => plugins.length === 0 ? <Empty icon="plugins" title="No plugin yet">Requests pass without hooks. Nothing runs until <code>GATEWAY_PLUGINS</code> is <code>on</code> for the node.</Empty> : (
            <Table label="Plugins" isStale={read.isPlaceholderData}>
              <Head of={["Plugin", "State", "Hooks", "If a hook fails, a request", "Installed", "Hash", ""]} />
              <tbody>{plugins.map((plugin) => <Row key={plugin.name} plugin={plugin} onOpen={(what) => setOpen({ what, plugin })} />)}</tbody>
            </Table>
          )}
        </Loaded>
      </Panel>
      <p className="small muted wrap">Several are called by name, for answers the other way round. The metric <code>gateway_plugin_calls_total</code> counts the calls of hooks; the log says why one failed.</p>
      {open?.what === "install" ? <Install onClose={close} /> : null}
      {open?.what === "configure" ? <Configure plugin={open.plugin} onClose={close} /> : null}
      {open?.what === "remove" ? (
        <Confirm title={`Remove ${open.plugin.name}?`} confirm="Remove the plugin" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { name: open.plugin.name } })} failed="The plugin was not removed" error={remove.error}>
          <p>{open.plugin.status === "active" ? "Its hooks are called no more. " : ""}Its code and its settings are gone for good.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Plugins
