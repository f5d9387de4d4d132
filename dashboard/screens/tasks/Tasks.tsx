/** Where conversations go by what they are about: models of tasks, cheaper ones for agents' own requests, intents; a try, and what was counted. */
import { useId, useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { count, counted } from "../../format/numbers.ts"
import { Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { AreaField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { ModelNames } from "../models/ModelNames.tsx"
import { Cheaper } from "./Cheaper.tsx"
import { Intents } from "./Intents.tsx"
import { Models } from "./Models.tsx"
import { type Background, type Routing, tasks, taskWord } from "./words.ts"

const EVERY_MS = 10_000

const Try = () => {
  const [text, setText] = useState("")
  const detect = useChange("POST /api/settings/task-routing", [])
  const go = (): void => detect.mutate({ body: { action: "detect", body: { model: "auto", messages: [{ role: "user", content: text }] } } })
  const found = detect.data !== undefined && "taskType" in detect.data ? detect.data : null
  return (
    <Panel title="Which task is it?">
      <Form onSubmit={() => go()}>
        <AreaField label="What a person writes" rows={3} value={text} onChange={setText} hint="Nothing is sent to a provider or counted" />
        <div className="row"><Button type="submit" disabled={detect.isPending || text === ""}>Find out</Button></div>
        <Failure what="It could not be found out" error={detect.error} />
        {found === null || detect.error !== null ? null : (
          <p role="status" className="wrap"><strong>{taskWord(found.taskType)}</strong>, found by {found.source}. Intent: {found.intent}. {found.model === null ? "No model is named for it." : <>It would go to <code>{found.model}</code> once task routing is on.</>}{found.background === null ? "" : ` A request in the background: ${found.background}.`}</p>
        )}
      </Form>
    </Panel>
  )
}

const Counts = ({ background, routing }: { readonly routing: Routing; readonly background: Background }) => {
  const tasksReset = useChange("POST /api/settings/task-routing", ["GET /api/settings/task-routing"], undefined, { said: "The counts begin again.", isRecord: false })
  const backgroundReset = useChange("POST /api/settings/background-degradation", ["GET /api/settings/background-degradation"])
  const reset = (): void => {
    tasksReset.mutate({ body: { action: "reset-stats" } })
    backgroundReset.mutate({ body: { action: "reset-stats" } })
  }
  const { byTask, since } = routing.stats
  const { byReason, detected, redirected, unavailable } = background.stats
  const reasons = Object.entries(byReason).filter(([, times]) => times.detected > 0).map(([reason, times]) => `${reason} ${count(times.detected)}`)
  const error = tasksReset.error ?? backgroundReset.error
  return (
    <Panel title="What this node counted" actions={<Button kind="small" disabled={tasksReset.isPending || backgroundReset.isPending} onClick={reset}>Begin again</Button>}>
      <Failure what="The counts were not begun again" error={error} inPanel />
      <Table label="Counts by task">
        <Head of={["Task", ">Found", ">Sent to its model", ">Model could not serve"]} />
        <tbody>{tasks.map(({ name, word }) => <tr key={name}><td>{word}</td><td className="end">{count(byTask[name].detected)}</td><td className="end">{count(byTask[name].routed)}</td><td className="end">{count(byTask[name].unavailable)}</td></tr>)}</tbody>
      </Table>
      <div className="panel-body"><p className="small muted wrap">In the background: {counted(detected, "request", "requests")}, {count(redirected)} sent to a cheaper model, {count(unavailable)} whose model could not serve{reasons.length === 0 ? "" : `; by ${reasons.join(", ")}`}. Since <Ago at={since} />.</p></div>
    </Panel>
  )
}

const Tasks = () => {
  const list = useId()
  const routing = useRead("GET /api/settings/task-routing", {}, { everyMs: EVERY_MS })
  const background = useRead("GET /api/settings/background-degradation", {}, { everyMs: EVERY_MS })
  const settings = useRead("GET /api/settings")
  return (
    <Page title="Task routing" lead="A conversation can go to another model than it asked for, by what it is about. Clients see where it went by the header X-Gateway-Task.">
      {!isSettled(routing, background, settings) ? <Skeleton rows={8} /> : (
        <>
          <div className="columns">
            <Loaded read={routing} what="Task routing">{(stored) => <Models stored={stored} list={list} />}</Loaded>
            <div className="stack">
              <Loaded read={background} what="What happens in the background">{(stored) => <Cheaper stored={stored} list={list} />}</Loaded>
              <Loaded read={settings} what="The settings of intents">{(stored) => <Intents stored={stored} />}</Loaded>
            </div>
          </div>
          <Try />
          {routing.data === undefined || background.data === undefined ? null : <Counts routing={routing.data} background={background.data} />}
        </>
      )}
      <ModelNames id={list} />
    </Page>
  )
}

export default Tasks
