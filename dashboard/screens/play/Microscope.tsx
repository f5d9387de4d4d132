/** The stream microscope: one prompt over several formats or models at once, their frames, times, bytes and what was left out beside each other. */
import { bytes } from "../../format/bytes.ts"
import { count, duration } from "../../format/numbers.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { formats } from "./formats.ts"
import { Frames, Strip } from "./Frames.tsx"
import { states } from "./states.ts"
import type { Asked, Run } from "./useStream.ts"

const same = (list: ReadonlyArray<Asked>, of: (asked: Asked) => string): boolean => new Set(list.map(of)).size <= 1

export const Microscope = ({ asked, runs }: { readonly asked: ReadonlyArray<Asked>; readonly runs: Readonly<Record<string, Run>> }) => {
  const shown = asked.flatMap((one) => runs[one.id] === undefined ? [] : [{ ...one, run: runs[one.id] as Run }])
  const word = ({ ask, format }: Asked): string => same(asked, ({ ask: { model } }) => model) ? formats[format].word : same(asked, (one) => one.format) ? ask.model : `${ask.model}, ${formats[format].word}`
  return (
    <Panel title="Side by side">
      <Table label="Side by side">
        <Head of={["Stream", "State", ">First token", ">Whole", ">Frames", ">Bytes", ">Longest gap", "Left out by translation"]} />
        <tbody>
          {shown.map(({ run, ...one }) => (
            <tr key={one.id}>
              <th scope="row">{word(one)}</th><td><Status {...states[run.state]} /></td><td className="end">{duration(run.firstMs)}</td><td className="end">{duration(run.totalMs)}</td><td className="end">{count(run.frameCount)}</td>
              <td className="end" title={`${count(run.bytes)} bytes`}>{bytes(run.bytes)}</td><td className="end">{duration(run.longestGapMs)}</td><td className="wrap">{run.omitted === "" ? <span className="muted">nothing</span> : <code>{run.omitted}</code>}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      <div className="panel-body">
        <div className="columns">
          {shown.map(({ run, ...one }) => (
            <section key={one.id} className="stack-tight" aria-label={word(one)}>
              <h3>{word(one)}</h3>
              <Failure what={run.text === "" ? "No answer came" : "The answer broke off"} error={run.error} />
              <Strip run={run} label={word(one)} />
              <div className="well answer" role="log" aria-label={`Answer over ${word(one)}`}>{run.text}</div>
              <Frames run={run} word="Frames" label={`Frames over ${word(one)}`} />
            </section>
          ))}
        </div>
      </div>
    </Panel>
  )
}
