/** Batches: how far each is, what went wrong at which line, and its files of answers and errors. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { isoOf } from "../../format/bytes.ts"
import { count, counted, tokens } from "../../format/numbers.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Actions, Head, Pager, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { contentOf } from "./content.ts"
import { lineErrors } from "./lineErrors.ts"
import { Preview, useBeginning } from "./Preview.tsx"

const EVERY_MS = 2_000
const ON_A_PAGE = 100
/** Bytes of a file of errors that are read for the list. */
const ERROR_BYTES = 256_000

type Batch = Answer<"GET /api/batches">["data"][number]

const states: Readonly<Record<Batch["status"], { readonly tone: Tone; readonly word: string }>> = {
  validating: { tone: "info", word: "Being checked" }, in_progress: { tone: "info", word: "Runs" }, finalizing: { tone: "info", word: "Writes its files" }, completed: { tone: "ok", word: "Completed" },
  failed: { tone: "bad", word: "Failed" }, expired: { tone: "warn", word: "Ran out of time" }, cancelling: { tone: "info", word: "Being stopped" }, cancelled: { tone: "off", word: "Stopped" }
}

const isOver = ({ status }: Batch): boolean => status === "completed" || status === "failed" || status === "expired" || status === "cancelled"

const Progress = ({ batch }: { readonly batch: Batch }) => {
  const { completed, failed, total } = batch.request_counts
  return (
    <>
      <p className="number nowrap small">{count(completed)} of {count(total)}{failed === 0 ? "" : `, ${count(failed)} failed`}</p>
      <progress value={completed + failed} max={Math.max(1, total)} aria-label={`Progress of ${batch.id}`} />
    </>
  )
}

const FileLine = ({ id, onLook, word }: { readonly id: string | null; readonly word: string; readonly onLook: (id: string) => void }) => id === null ? null : (
  <li className="row">
    <span>{word}</span><Copy value={id} />
    <Button kind="small" onClick={() => onLook(id)}>Look into the {word.toLowerCase()}</Button>
    <a className="button button-small" href={contentOf(id)} download={`${id}.jsonl`}><Icon name="download" size={16} />Download the {word.toLowerCase()}</a>
  </li>
)

const LineErrors = ({ fileId }: { readonly fileId: string }) => {
  const read = useBeginning(fileId, ERROR_BYTES, ERROR_BYTES)
  return (
    <Loaded read={read} what="The errors of lines">
      {(text) => (
        <Table label="Errors of lines">
          <Head of={["Line's id", "Code", "What went wrong"]} />
          <tbody>{lineErrors(text).map((row, index) => <tr key={`${row.id} ${index}`}><td className="cut" title={row.id}>{row.id}</td><td className="nowrap">{row.code}</td><td className="wrap">{row.message}</td></tr>)}</tbody>
        </Table>
      )}
    </Loaded>
  )
}

const One = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const read = useRead("GET /api/batches/:id", { params: { id } }, { everyMs: EVERY_MS })
  const [looking, setLooking] = useState<string | null>(null)
  return (
    <Dialog title={`Batch ${id}`} wide onClose={onClose}>
      <Loaded read={read} what="The batch">
        {(batch) => (
          <div className="stack">
            <dl className="pairs">
              <dt>State</dt><dd><Status {...states[batch.status]} /></dd>
              <dt>Progress</dt><dd><Progress batch={batch} /></dd>
              <dt>Endpoint</dt><dd>{batch.endpoint}</dd>
              <dt>Runs as</dt><dd>{batch.api_key_id === null ? "an operator" : <Copy value={batch.api_key_id} />}</dd>
              <dt>Begun</dt><dd><Ago at={isoOf(batch.created_at)} /></dd>
              {isOver(batch) || batch.expires_at === null ? null : <><dt>Has time for</dt><dd><Countdown until={isoOf(batch.expires_at) ?? ""} /></dd></>}
              {batch.usage === null ? null : <><dt>Tokens</dt><dd className="number">{tokens(batch.usage.input_tokens)} in, {tokens(batch.usage.output_tokens)} out</dd></>}
              {Object.entries(batch.metadata ?? {}).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
            </dl>
            <ul className="stack-tight" aria-label="Files of the batch">
              <FileLine id={batch.input_file_id} word="Requests" onLook={setLooking} />
              <FileLine id={batch.output_file_id} word="Answers" onLook={setLooking} />
              <FileLine id={batch.error_file_id} word="Errors" onLook={setLooking} />
            </ul>
            {batch.errors === null || batch.errors.data.length === 0 ? null : (
              <Table label="What is wrong with the file">
                <Head of={[">Line", "Code", "What is wrong"]} />
                <tbody>{batch.errors.data.map((error, index) => <tr key={`${error.line ?? 0} ${index}`}><td className="end">{error.line ?? "–"}</td><td className="nowrap">{error.code}</td><td className="wrap">{error.message}</td></tr>)}</tbody>
              </Table>
            )}
            {batch.error_file_id === null ? null : <LineErrors fileId={batch.error_file_id} />}
          </div>
        )}
      </Loaded>
      {looking === null ? null : <Preview id={looking} name={looking} size={ERROR_BYTES} onClose={() => setLooking(null)} />}
    </Dialog>
  )
}

const Row = ({ batch, onLook }: { readonly batch: Batch; readonly onLook: () => void }) => {
  const touches = ["GET /api/batches", "GET /api/batches/:id"] as const
  const cancel = useChange("POST /api/batches/:id/cancel", touches)
  const remove = useChange("DELETE /api/batches/:id", touches, undefined, { said: "The batch is deleted; its files stay.", isRecord: false })
  const params = { id: batch.id }
  const error = cancel.error ?? remove.error
  return (
    <tr>
      <td><Copy value={batch.id} />{batch.metadata?.["note"] === undefined ? null : <p className="small muted wrap">{batch.metadata["note"]}</p>}{error === null ? null : <p className="small wrap" role="alert">{error.message}</p>}</td>
      <td><Status {...states[batch.status]} /></td>
      <td><Progress batch={batch} /></td>
      <td className="cut">{batch.endpoint}</td>
      <td><Ago at={isoOf(batch.created_at)} /></td>
      <Actions>
        <Button kind="small" onClick={onLook} aria-label={`Open ${batch.id}`}>Open</Button>
        {isOver(batch) ? (
          <IconButton icon="trash" word="Delete" of={batch.id} disabled={remove.isPending} onClick={() => remove.mutate({ params })} />
        ) : <Button kind="small danger" disabled={cancel.isPending || batch.status === "cancelling"} onClick={() => cancel.mutate({ params })} aria-label={`Stop ${batch.id}`}>Stop</Button>}
      </Actions>
    </tr>
  )
}

export const Batches = ({ onNew }: { readonly onNew: () => void }) => {
  // Each page begins after the last batch of the one before: what is new moves nothing.
  const [turned, setTurned] = useState<ReadonlyArray<string>>([])
  const after = turned.at(-1)
  const read = useRead("GET /api/batches", { query: { limit: ON_A_PAGE, ...(after === undefined ? {} : { after }) } }, { everyMs: EVERY_MS })
  const [open, setOpen] = useState<string | null>(null)
  const [clearing, setClearing] = useState(false)
  const clear = useChange("DELETE /api/v1/batches/delete-completed", ["GET /api/batches", "GET /api/files"], () => setClearing(false), {
    said: ({ deletedBatches, deletedFiles }) => `${counted(deletedBatches, "batch", "batches")} and ${counted(deletedFiles, "file", "files")} are deleted.`, isRecord: false
  })
  // Those of other pages count, too: with more than one page the gateway looks.
  const mayClear = turned.length > 0 || read.data?.has_more === true || read.data?.data.some(({ status }) => status === "completed") === true
  const turn = (page: number, last: string | null | undefined): void => setTurned(page < turned.length ? turned.slice(0, page) : typeof last === "string" ? [...turned, last] : turned)
  return (
    <Panel title="Batches" actions={<Button kind="small danger" disabled={!mayClear} onClick={() => setClearing(true)}>Delete the completed ones</Button>}>
      <Loaded read={read} what="The batches">
        {({ data, has_more, last_id }) => data.length === 0 && turned.length === 0 ? <Empty icon="work" title="No batch yet" action={<Button onClick={onNew}>Start one</Button>}>Upload a file of requests below, then run it.</Empty> : (
          <>
            <Table label="Batches" isStale={read.isPlaceholderData}>
              <Head of={["Batch", "State", "Progress", "Endpoint", "Begun", ""]} />
              <tbody>{data.map((batch) => <Row key={batch.id} batch={batch} onLook={() => setOpen(batch.id)} />)}</tbody>
            </Table>
            <Pager label="batches" page={turned.length} hasOlder={has_more} onTurn={(page) => turn(page, last_id)} />
          </>
        )}
      </Loaded>
      {open === null ? null : <One id={open} onClose={() => setOpen(null)} />}
      {clearing ? (
        <Confirm
          title="Delete the completed batches?" confirm="Delete them" pending={clear.isPending} onClose={() => setClearing(false)} onConfirm={() => clear.mutate({})}
          failed="The batches were not deleted" error={clear.error}
        >
          <p>Completed batches of all keys and their files are gone for good: requests, answers and errors.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}
