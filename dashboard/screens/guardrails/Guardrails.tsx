/** What is stopped: the guardrails in their order, the flags that switch them, and a text to try them with. */
import { useState } from "react"
import { useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Empty, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { FlagRow } from "../settings/FlagRow.tsx"
import { SettingSwitch } from "../settings/SettingSwitch.tsx"
import { Try } from "./Try.tsx"
import { flags as names, known } from "./words.ts"

const EVERY_MS = 10_000

const Switches = () => {
  const read = useRead("GET /api/settings/feature-flags")
  const [waits, setWaits] = useState(false)
  return (
    <Panel title="What they do">
      {waits ? <p className="panel-head">A change acts after a restart.</p> : null}
      <Loaded read={read} what="The flags" rows={6}>
        {({ flags }) => (
          <ul className="list">
            {names.flatMap((name) => flags.filter(({ key }) => key === name)).map((flag) => <FlagRow key={flag.key} flag={flag} onRestart={() => setWaits(true)} />)}
            <SettingSwitch name="allowGuardrailOptOut" word="Clients may leave guardrails out" hint="By a header or a member of a request. A key can forbid it, too." />
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}

const Guardrails = () => {
  const read = useRead("GET /api/guardrails", {}, { everyMs: EVERY_MS })
  const flags = useRead("GET /api/settings/feature-flags")
  const rows = read.data?.guardrails ?? []
  const active = rows.filter(({ enabled }) => enabled).length
  return (
    <Page title="Guardrails" lead="Texts of users, tools and models are read before anything is stored or sent. Each guardrail reads what those before it have left.">
      {!isSettled(read, flags) ? <Skeleton rows={8} /> : (
        <>
          <Panel title="In their order" actions={read.data === undefined ? null : <span className="small muted number">{count(active)} of {count(rows.length)} on</span>}>
            <Loaded read={read} what="The guardrails" rows={3}>
              {({ guardrails }) => guardrails.length === 0 ? <Empty icon="guardrails" title="This gateway has no guardrail" /> : (
                <>
                  {active > 0 ? null : <p className="panel-head muted">All are off: requests and answers pass unread.</p>}
                  <Table label="Guardrails" isStale={read.isPlaceholderData}>
                    <Head of={["Guardrail", "State", "What it does", ">Priority"]} />
                    <tbody>
                      {guardrails.map(({ enabled, name, priority }) => (
                        <tr key={name}>
                          <td><strong>{known[name]?.word ?? name}</strong><p className="small muted"><code>{name}</code></p></td>
                          <td><Status tone={enabled ? "ok" : "off"} word={enabled ? "On" : "Off"} /></td>
                          <td><p className="wrap">{known[name]?.does ?? "–"}</p><p className="small muted wrap">{known[name]?.on}</p></td>
                          <td className="end">{count(priority)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
                </>
              )}
            </Loaded>
          </Panel>
          <Try names={rows.map(({ name }) => name)} />
          <Switches />
          <p className="small muted wrap">From which severity on an injection is refused is said by <code>INPUT_SANITIZER_BLOCK_THRESHOLD</code> of the environment. What was found is counted by the metric <code>gateway_guardrails_total</code>.</p>
        </>
      )}
    </Page>
  )
}

export default Guardrails
