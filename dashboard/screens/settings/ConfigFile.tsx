/** The configuration file of the node that answers: what it did, what was refused, and a file of all that stands. */
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { save } from "../../parts/Copy.tsx"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 10_000

export const ConfigFile = () => {
  const read = useRead("GET /api/config-file", {}, { everyMs: EVERY_MS })
  const exported = useChange("GET /api/config-file/export", [], ({ yaml }) => save("gateway.yaml", "application/yaml", yaml))
  const take = <Button kind="small" disabled={exported.isPending} onClick={() => exported.mutate({})}><Icon name="download" size={16} />Download as a file</Button>
  return (
    <Panel id="file" title="Configuration file" actions={take}>
      <div className="panel-body">
        <Failure what="No file was made" error={exported.error} />
        {exported.data === undefined || exported.data.variables.length === 0 ? null : <p className="small muted wrap" role="status">The file names these variables for secrets: {exported.data.variables.map(({ name }) => name).join(", ")}.</p>}
        <Loaded read={read} what="The configuration file">
          {({ file, last }) => file === null || last === null ? <p className="muted">This node has none. What is set here is kept in the database; GATEWAY_CONFIG names a file that declares it instead.</p> : (
            <>
              <p className="wrap"><code>{file}</code> was read <Ago at={last.at} />{last.error === null ? `: ${count(last.entries.length)} entries` : ""}. Change it there, then send the gateway SIGHUP.</p>
              {last.error === null ? null : <pre className="failure wrap" role="alert">{last.error}</pre>}
              {last.entries.every(({ message }) => message === null) ? null : (
                <ul className="stack-tight" aria-label="Refused entries">
                  {last.entries.map(({ kind, message, name }) => message === null ? null : <li key={`${kind}/${name}`} className="wrap"><Status tone="bad" word={`${kind} ${name}`} /> <span className="small">{message}</span></li>)}
                </ul>
              )}
            </>
          )}
        </Loaded>
      </div>
    </Panel>
  )
}
