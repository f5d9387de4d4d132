/** The fire drill: a fault of the built-in simulator for some seconds, and what its clients see meanwhile. */
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import type { Answer, Body } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, duration } from "../../format/numbers.ts"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { useStream } from "../play/useStream.ts"
import { toneOf } from "../requests/outcome.ts"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 1_000
const CALLS = 5
const MODEL = "sim/echo"

type Fault = Body<"POST /api/drills">["fault"]
type Drill = Answer<"GET /api/drills">["drills"][number]

const faults: Readonly<Record<Fault, { readonly word: string; readonly about: string }>> = {
  "rate-limit-storm": { word: "Rate limit storm", about: "Calls are refused with 429 and a time to wait: the model rests." },
  stall: { word: "Stall", about: "Calls get no answer until their deadline: the breaker counts them." },
  "half-stream": { word: "Half stream", about: "Answers break off behind their first words: the breaker counts them." }
}
const words = Object.entries(faults).map(([value, { word }]) => ({ value, word }))

const Running = ({ drill }: { readonly drill: Drill }) => {
  const stop = useChange("DELETE /api/drills/:id", ["GET /api/drills"])
  return (
    <>
      <div className="row">
        <Status tone="warn" word={`${faults[drill.fault].word} runs`} />
        <span>ends in <Countdown until={drill.endsAt} /></span>
        <span className="muted">{count(drill.struck)} calls struck on node {drill.node}</span>
        <Button disabled={stop.isPending} onClick={() => stop.mutate({ params: { id: drill.id } })}>Stop the drill</Button>
      </div>
      <Failure what="The drill was not stopped" error={stop.error} />
    </>
  )
}

const Start = ({ last }: { readonly last: Drill | undefined }) => {
  const [fault, setFault] = useState<Fault>("rate-limit-storm")
  const [seconds, setSeconds] = useState("30")
  const start = useChange("POST /api/drills", ["GET /api/drills"])
  return (
    <Form className="stack" onSubmit={() => start.mutate({ body: { fault, seconds: Number(seconds) } })}>
      <SelectField label="Fault" value={fault} choices={words} onChange={(value) => setFault(value as Fault)} hint={faults[fault].about} />
      <TextField label="Seconds" type="number" value={seconds} onChange={setSeconds} required hint="5 to 120; then it ends by itself" wrong={wrongWith(start.error, "seconds")} />
      <Failure what="The drill did not start" error={start.error} />
      <div className="row">
        <Button type="submit" kind="primary" disabled={start.isPending}>Start the drill</Button>
        {last === undefined ? null : <span className="muted small">The last one, {faults[last.fault].word}, struck {count(last.struck)} calls and ended <Ago at={last.endedAt} />.</span>}
      </div>
    </Form>
  )
}

const Caller = () => {
  const { run, start } = useStream()
  return (
    <div className="row">
      <Button disabled={run?.state === "streaming"} onClick={() => void start("chat-completions", { model: MODEL, prompt: "What is seen of this drill?", system: "", maxTokens: null, temperature: null }, "")}>Call {MODEL}</Button>
      <span className="wrap" role="status">{run === null ? "" : run.error !== null ? `${run.status ?? "No answer"}: ${run.error.message}` : run.state === "streaming" ? "waiting …" : run.text}</span>
    </div>
  )
}

const LastCalls = () => {
  const read = useRead("GET /api/usage/call-logs", { query: { provider: "sim", exact: "true", limit: CALLS } }, { everyMs: EVERY_MS })
  return (
    <Loaded read={read} what="The calls of the simulator">
      {(calls) => calls.length === 0 ? <Empty icon="requests" title="The simulator was not called yet" /> : (
        <Table label="Last calls of the simulator">
          <Head of={["When", "Model", "Outcome", ">Status", ">Time"]} />
          <tbody>
            {calls.map((call) => (
              <tr key={call.id}>
                <td><Link to="/requests/$id" params={{ id: call.requestId }}><Ago at={call.timestamp} /></Link></td>
                <td className="cut">{call.provider}/{call.model}</td>
                <td><Status tone={toneOf(call)} word={call.outcome} /></td>
                <td className="end">{call.status}</td>
                <td className="end">{duration(call.duration)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Loaded>
  )
}

export const FireDrill = () => {
  const read = useRead("GET /api/drills", {}, { everyMs: EVERY_MS })
  return (
    <Panel title="Fire drill">
      <Loaded read={read} what="The drills">
        {({ available, drills, node }) => {
          const running = drills.find(({ endedAt }) => endedAt === null)
          return !available ? <Empty icon="resilience" title="The simulator is turned off">GATEWAY_SIM_PROVIDER=auto turns it on, and drills with it.</Empty> : (
            <>
              <div className="panel-body">
                <p className="muted">Strikes calls of the built-in simulator on node {node}, and of no other provider: no vendor, no cost. Watch what reacts above.</p>
                {running === undefined ? <Start last={drills[0]} /> : <Running drill={running} />}
                <Caller />
              </div>
              <LastCalls />
            </>
          )
        }}
      </Loaded>
    </Panel>
  )
}
