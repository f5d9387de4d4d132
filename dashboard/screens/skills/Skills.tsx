/** Code of the operator's that runs in a sandbox: installed, switched, changed and run; and what ran. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { filled } from "../../format/members.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Empty, Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Switch, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Actions, Head, pageOf, pageText, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Edit } from "./Edit.tsx"
import { Executions } from "./Executions.tsx"
import { Pages } from "./Pages.tsx"
import { Run } from "./Run.tsx"
import { fullName, isOn, newOf, draftOf, type Skill } from "./words.ts"

/** As many as there can be. */
const ALL = 200

type Open = { readonly what: "add" } | { readonly what: "edit" | "remove" | "run"; readonly skill: Skill } | null

const Skills = () => {
  const { page: asked = "", search = "" } = useSearch({ from: "/skills" })
  const navigate = useNavigate({ from: "/skills" })
  const read = useRead("GET /api/skills", { query: { limit: ALL } })
  const keys = useEveryKey()
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const set = (change: { readonly search?: string; readonly page?: string }): void =>
    void navigate({ search: filled({ search, page: asked, ...change }), replace: true })
  const change = useChange("PUT /api/skills/:id", ["GET /api/skills"], undefined, {
    said: ({ skill }) => `${fullName(skill)} is ${isOn(skill) ? "on" : "off"}.`, isRecord: false,
    undo: (_, { params }) => {
      const before = read.data?.data.find(({ id }) => id === params?.id)
      return before === undefined ? null : () => call("PUT /api/skills/:id", { params: { id: before.id }, body: { enabled: before.enabled, mode: before.mode } })
    }
  })
  const remove = useChange("DELETE /api/skills/:id", ["GET /api/skills"], close, {
    said: "The skill is removed.", isRecord: false,
    undo: () => {
      const gone = open?.what === "remove" ? open.skill : null
      if (gone === null) return null
      return async () => {
        const { id } = await call("POST /api/skills/install", { body: newOf(draftOf(gone)) })
        await call("PUT /api/skills/:id", { params: { id }, body: { enabled: gone.enabled, mode: gone.mode } })
      }
    }
  })
  const skills = read.data?.data ?? []
  const wanted = search.toLowerCase()
  const add = <Button kind="primary" onClick={() => setOpen({ what: "add" })}><Icon name="plus" size={16} />Install a skill</Button>
  return (
    <Page title="Skills" lead="JavaScript of yours that runs in a sandbox when it is asked for: from JSON to JSON, without network, files and timers." actions={add}>
      {!isSettled(read, keys) ? <Skeleton rows={8} /> : (
        <>
          <Panel title="Installed" actions={<span className="small muted number">{count(skills.filter(isOn).length)} of {count(skills.length)} on</span>}>
            <Failure what="The skill was not switched" error={change.error} inPanel />
            <Loaded read={read} what="The skills">
              {() => skills.length === 0 ? <Empty icon="skills" title="No skill yet" action={add}>Nothing runs until <code>GATEWAY_SKILLS</code> is <code>on</code> for the node.</Empty> : (() => {
                const shown = skills.filter((skill) => `${fullName(skill)} ${skill.description} ${skill.tags.join(" ")}`.toLowerCase().includes(wanted))
                return (
                  <>
                    <div className="panel-head"><div className="filters"><TextField className="field-wide" label="Find" type="search" value={search} placeholder="Name, description, tag" onChange={(value) => set({ search: value })} /></div></div>
                    {shown.length === 0 ? <Empty icon="search" title="No skill fits" action={<Button onClick={() => set({ search: "" })}>Show all</Button>} /> : (
                      <Table label="Skills">
                        <Head of={["Skill", "Runs for", "Tags", "Changed", ""]} />
                        <tbody>
                          {shown.map((skill) => {
                            const name = fullName(skill)
                            return (
                              <tr key={skill.id}>
                                <td><strong className="wrap">{skill.name}</strong> <span className="small muted">{skill.version}</span><p className="small muted wrap">{skill.description}</p></td>
                                <td className="cut">{skill.apiKeyId === null ? "any key" : keys.data?.find(({ id }) => id === skill.apiKeyId)?.name ?? skill.apiKeyId}</td>
                                <td className="wrap">{skill.tags.map((tag) => <span key={tag} className="tag">{tag}</span>)}</td><td><Ago at={skill.updatedAt} /></td>
                                <Actions>
                                  <Button kind="small" disabled={!isOn(skill)} onClick={() => setOpen({ what: "run", skill })} aria-label={`Run ${name}`}>Run</Button>
                                  <IconButton icon="edit" word="Edit" of={name} onClick={() => setOpen({ what: "edit", skill })} />
                                  <IconButton icon="trash" word="Remove" of={name} onClick={() => setOpen({ what: "remove", skill })} />
                                  <Switch checked={isOn(skill)} label={`${name} may run`} disabled={change.isPending} onChange={(on) => change.mutate({ params: { id: skill.id }, body: on ? { enabled: true, mode: "on" } : { enabled: false } })} />
                                </Actions>
                              </tr>
                            )
                          })}
                        </tbody>
                      </Table>
                    )}
                  </>
                )
              })()}
            </Loaded>
          </Panel>
          <Executions skills={skills} page={pageOf(asked)} onTurn={(page) => set({ page: pageText(page) })} />
          <Pages search={search} />
        </>
      )}
      {open?.what === "add" ? <Edit skill={null} onClose={close} /> : null}
      {open?.what === "edit" ? <Edit skill={open.skill} onClose={close} /> : null}
      {open?.what === "run" ? <Run skill={open.skill} onClose={close} /> : null}
      {open?.what === "remove" ? (
        <Confirm title={`Remove ${fullName(open.skill)}?`} confirm="Remove the skill" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.skill.id } })} failed="The skill was not removed" error={remove.error}>
          <p>It runs no more; what ran stays.</p>
        </Confirm>
      ) : null}
    </Page>
  )
}

export default Skills
