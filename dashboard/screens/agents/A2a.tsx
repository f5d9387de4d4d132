/** The agent-to-agent server: its card and skills, a task to give it, and the operator's own tasks with what became of them. */
import { useMutation, useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { ask, call, Problem, problemOf } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { queryClient, useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { AreaField, choicesOf, SelectField, Switch, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Actions, pageOf, Pager, pageText, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { exact } from "../../format/time.ts"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 2_000
const ON_A_PAGE = 100
const CARD = "/.well-known/agent-card.json"

type Task = Answer<"GET /api/a2a/tasks">["tasks"][number]

const states: Readonly<Record<Task["state"], { readonly tone: Tone; readonly word: string }>> = {
  submitted: { tone: "info", word: "Waits" }, working: { tone: "info", word: "Works" }, completed: { tone: "ok", word: "Completed" }, failed: { tone: "bad", word: "Failed" }, cancelled: { tone: "off", word: "Cancelled" }
}

const isOpen = ({ state }: Task): boolean => state === "submitted" || state === "working"

const Card = () => {
  const read = useQuery<string, Error>({
    queryKey: [CARD],
    queryFn: async ({ signal }) => {
      const reply = await ask(CARD, { signal, headers: { "a2a-version": "1.0" } })
      const said: unknown = await reply.json().catch(() => null)
      if (!reply.ok) throw problemOf(reply, said)
      return JSON.stringify(said, null, 2)
    }
  })
  return <Loaded read={read} what="The agent card">{(text) => <pre className="well well-scroll" tabIndex={0} aria-label="Agent card">{text}</pre>}</Loaded>
}

/** Gives a task in the gateway's own dialect and answers its id once the gateway has taken it. */
const give = async (skill: string, words: string, model: string): Promise<string | null> => {
  const reply = await ask("/a2a", {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { skill, messages: [{ role: "user", content: words }], metadata: skill === "smart-routing" ? { model } : {} } })
  })
  const said = await reply.json().catch(() => null) as { readonly result?: { readonly task?: { readonly id?: string } }; readonly error?: { readonly message?: string; readonly code?: number; readonly data?: { readonly task?: { readonly id?: string } } } } | null
  if (said?.error !== undefined) throw new Problem(said.error.message ?? "The task was refused.", reply.status, String(said.error.code ?? "a2a"))
  if (!reply.ok) throw problemOf(reply, said)
  return said?.result?.task?.id ?? null
}

const Give = ({ onClose, onGiven, skills }: { readonly skills: Answer<"GET /api/a2a/status">["skills"]; readonly onClose: () => void; readonly onGiven: (id: string | null) => void }) => {
  const [skill, setSkill] = useState(skills[0]?.id ?? "smart-routing")
  const [words, setWords] = useState("")
  const [model, setModel] = useState("sim/echo")
  const run = useMutation<string | null, Error>({
    mutationFn: () => give(skill, words, model),
    onSuccess: onGiven,
    onSettled: () => Promise.all(["GET /api/a2a/tasks", "GET /api/a2a/status"].map((read) => queryClient.invalidateQueries({ queryKey: [read] })))
  })
  return (
    <Dialog title="Give it a task" onClose={onClose} onSubmit={() => run.mutate()}>
      <SelectField label="Skill" value={skill} choices={choicesOf(skills)} onChange={setSkill} hint={skills.find(({ id }) => id === skill)?.description} />
      {skill === "smart-routing" ? <TextField label="Model or combo" value={model} onChange={setModel} required /> : null}
      <AreaField label="Message" value={words} onChange={setWords} />
      <Submit failed="The task was not completed" of={run} isOff={words.trim() === ""}>{run.isPending ? "It works" : "Give the task"}</Submit>
    </Dialog>
  )
}

const One = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const read = useRead("GET /api/a2a/tasks/:id", { params: { id } }, { everyMs: EVERY_MS })
  return (
    <Dialog title="Task" wide onClose={onClose}>
      <Loaded read={read} what="The task">
        {({ task }) => (
          <div className="stack">
            <dl className="pairs">
              <dt>Id</dt><dd><Copy value={task.id} most={40} /></dd><dt>Skill</dt><dd>{task.skill}</dd><dt>State</dt><dd><Status {...states[task.state]} /></dd><dt>Asked</dt><dd className="wrap">{task.input}</dd>
            </dl>
            <ol className="list" aria-label="Events of the task">
              {task.events.map((event, index) => <li key={`${event.timestamp} ${index}`} className="row"><Status {...states[event.state]} /><span className="small muted number">{exact(event.timestamp)}</span><span className="wrap">{event.message ?? ""}</span></li>)}
            </ol>
            {task.artifacts.map((artifact) => <pre key={artifact.name} className="well well-scroll" tabIndex={0} aria-label={`Artifact ${artifact.name}`}>{typeof artifact.content === "string" ? artifact.content : JSON.stringify(artifact.content, null, 2)}</pre>)}
          </div>
        )}
      </Loaded>
    </Dialog>
  )
}

const Tasks = ({ onLook }: { readonly onLook: (id: string) => void }) => {
  const { tasks: at = "", ...place } = useSearch({ from: "/agents" })
  const navigate = useNavigate({ from: "/agents" })
  const page = pageOf(at)
  const turn = (next: number): void => void navigate({ search: { ...place, ...(next === 0 ? {} : { tasks: pageText(next) }) }, replace: true })
  const read = useRead("GET /api/a2a/tasks", { query: { limit: ON_A_PAGE, offset: page * ON_A_PAGE } }, { everyMs: EVERY_MS })
  const cancel = useChange("POST /api/a2a/tasks/:id/cancel", ["GET /api/a2a/tasks", "GET /api/a2a/tasks/:id"], undefined, { said: "The task is cancelled.", isRecord: false })
  return (
    <>
      <Failure what="The task was not cancelled" error={cancel.error} inPanel />
      <Loaded read={read} what="The tasks">
        {({ tasks, total }) => total === 0 ? <Empty icon="agents" title="You gave no task yet">Tasks are seen by the caller that gave them, and by no other: those of agents are not listed here.</Empty> : (
          <>
            <Table label="Tasks">
              <thead><tr><th scope="col">Asked</th><th scope="col">Skill</th><th scope="col">State</th><th scope="col">Given</th><th scope="col"><span className="hidden-text">Actions, {count(total)} tasks</span></th></tr></thead>
              <tbody>
                {tasks.map((task) => (
                  <tr key={task.id}>
                    <td className="cut" title={task.input}>{task.input}</td><td>{task.skill}</td><td><Status {...states[task.state]} /></td><td><Ago at={task.createdAt} /></td>
                    <Actions>
                      <Button kind="small" onClick={() => onLook(task.id)} aria-label={`Open the task ${task.input.slice(0, 60)}`}>Open</Button>
                      {isOpen(task) ? <Button kind="small danger" disabled={cancel.isPending} onClick={() => cancel.mutate({ params: { id: task.id } })} aria-label={`Cancel the task ${task.input.slice(0, 60)}`}>Cancel</Button> : null}
                    </Actions>
                  </tr>
                ))}
              </tbody>
            </Table>
            <Pager label="tasks" page={page} hasOlder={(page + 1) * ON_A_PAGE < total} onTurn={turn} />
          </>
        )}
      </Loaded>
    </>
  )
}

export const A2a = () => {
  const status = useRead("GET /api/a2a/status", {}, { everyMs: EVERY_MS })
  const [giving, setGiving] = useState(false)
  const [looking, setLooking] = useState<string | null>(null)
  const save = useChange("PATCH /api/settings", ["GET /api/a2a/status", "GET /api/settings"], undefined, {
    said: "The setting is changed.", undo: (_, { body }) => () => call("PATCH /api/settings", { body: { a2aEnabled: body?.a2aEnabled !== true } })
  })
  return (
    <Panel title="Agent-to-agent server" actions={<Button kind="small" disabled={status.data?.enabled !== true} onClick={() => setGiving(true)}>Give it a task</Button>}>
      <Loaded read={status} what="The state of the agent-to-agent server">
        {({ agent, enabled, skills, tasks }) => (
          <>
            <div className="panel-body">
              <div className="row-wide">
                <p><Status tone={enabled ? "ok" : "off"} word={enabled ? "Answers" : "Off"} /> <span className="small muted wrap">{agent?.url ?? "Other agents can give the gateway tasks once it is on."}</span></p>
                <Switch label="A2A is served" checked={enabled} disabled={save.isPending} onChange={(a2aEnabled) => save.mutate({ body: { a2aEnabled } })} />
              </div>
              <Failure what="The setting was not changed" error={save.error} />
              {tasks === null ? null : <p className="small muted number">{count(tasks.submitted + tasks.working)} open, {count(tasks.completed)} completed, {count(tasks.failed)} failed, {count(tasks.cancelled)} cancelled; of all callers</p>}
              <ul className="stack-tight" aria-label="Skills">{skills.map((skill) => <li key={skill.id}><strong>{skill.name}</strong> <span className="small muted wrap">{skill.description}</span></li>)}</ul>
              {enabled ? <details><summary>Agent card</summary><Card /></details> : null}
            </div>
            <Tasks onLook={setLooking} />
            {giving ? (
              <Give
                skills={skills} onClose={() => setGiving(false)}
                onGiven={(id) => {
                  setGiving(false)
                  setLooking(id)
                }}
              />
            ) : null}
          </>
        )}
      </Loaded>
      {looking === null ? null : <One id={looking} onClose={() => setLooking(null)} />}
    </Panel>
  )
}
