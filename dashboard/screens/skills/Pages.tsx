/** Pages about this gateway for coding agents: its own, made from this release, and those that operators write. */
import { useState } from "react"
import { call } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { urlOf } from "../../app/place.ts"
import { counted } from "../../format/numbers.ts"
import { Confirm, Dialog } from "../../parts/Dialog.tsx"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { AreaField, TextField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Ago } from "../../parts/Time.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { fieldsOf } from "../../parts/edit/fieldsOf.ts"

type Skill = Answer<"GET /api/agent-skills">["skills"][number]

const touched = ["GET /api/agent-skills", "GET /api/agent-skills/coverage"] as const

const draftOf = (page: Skill | null) => ({ name: page?.name ?? "", description: page?.description ?? "", prompt: page?.prompt ?? "", model: page?.model ?? "", temperature: String(page?.temperature ?? "") })
const bodyOf = ({ description, model, name, prompt, temperature }: ReturnType<typeof draftOf>) => ({ name, description, prompt, model: model === "" ? null : model, temperature: temperature === "" ? null : Number(temperature) })

const Edit = ({ onClose, page }: { readonly page: Skill | null; readonly onClose: () => void }) => {
  const [draft, setDraft] = useState(() => draftOf(page))
  const put = (part: Partial<typeof draft>): void => setDraft({ ...draft, ...part })
  const add = useChange("POST /api/agent-skills", touched, onClose, { said: "The page is written.", isRecord: false, undo: ({ skill: { id } }) => () => call("DELETE /api/agent-skills/:id", { params: { id } }) })
  const save = useChange("PUT /api/agent-skills/:id", touched, onClose, { said: "The page is changed.", isRecord: false, undo: ({ skill: { id } }) => () => call("PUT /api/agent-skills/:id", { params: { id }, body: bodyOf(draftOf(page)) }) })
  const error = add.error ?? save.error
  const body = bodyOf(draft)
  const field = fieldsOf(draft, put, error)
  return (
    <Dialog title={page === null ? "Write a page" : `Change ${page.name}`} wide onClose={onClose} onSubmit={() => page === null ? add.mutate({ body }) : save.mutate({ params: { id: page.id }, body })}>
      <div className="grid-fields">
        <TextField label="Name" {...field("name")} required hint="Lower-case letters, digits and -" />
        <TextField label="Description" {...field("description")} required hint="When an agent should read it" />
        <TextField label="Model" {...field("model")} placeholder="any" />
        <TextField label="Temperature" type="number" {...field("temperature")} placeholder="the model's" />
      </div>
      <AreaField label="Text" rows={12} {...field("prompt")} hint="Markdown: what the agent reads" />
      <Submit failed="The page was not stored" of={[add, save]} isOff={draft.name === "" || draft.description === "" || draft.prompt === ""} onClose={onClose} />
    </Dialog>
  )
}

type Open = { readonly what: "edit" | "remove"; readonly page: Skill | null } | null

const List = ({ label, onOpen, pages }: { readonly label: string; readonly pages: ReadonlyArray<Skill>; readonly onOpen: (open: Open) => void }) => (
  <Table label={label}>
    <Head of={["Page", "Of", "Changed", ""]} />
    <tbody>
      {pages.map((page) => (
        <tr key={page.id}>
          <td><a href={urlOf(`/api/agent-skills/${encodeURIComponent(page.id)}/raw`).href} target="_blank" rel="noreferrer" className="wrap">{page.name}</a><p className="small muted wrap">{page.description}</p></td>
          <td className="nowrap">{page.category === "own" ? "yours" : page.category === "cli" ? "the command line" : "the API"}{page.generated ? <> <span className="tag">stored</span></> : null}</td>
          <td className="nowrap"><Ago at={page.updatedAt} never="with the release" /></td>
          <td className="actions">
            {page.category === "own" ? (
              <div className="row">
                <IconButton icon="edit" word="Edit" of={`the page ${page.name}`} onClick={() => onOpen({ what: "edit", page })} />
                <IconButton icon="trash" word="Remove" of={`the page ${page.name}`} onClick={() => onOpen({ what: "remove", page })} />
              </div>
            ) : null}
          </td>
        </tr>
      ))}
    </tbody>
  </Table>
)

export const Pages = ({ search }: { readonly search: string }) => {
  const read = useRead("GET /api/agent-skills")
  const coverage = useRead("GET /api/agent-skills/coverage")
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const make = useChange("POST /api/agent-skills/generate", touched, undefined, { said: ({ errors, generated }) => `${counted(generated.length, "page is", "pages are")} stored${errors.length === 0 ? "" : `, ${errors.length} failed`}.`, isRecord: false })
  const remove = useChange("DELETE /api/agent-skills/:id", touched, close, { said: "The page is removed.", isRecord: false, undo: () => open?.page == null ? null : () => call("POST /api/agent-skills", { body: bodyOf(draftOf(open.page)) }) })
  const wanted = search.toLowerCase()
  return (
    <Panel title="Pages for coding agents" actions={<span className="row"><Button kind="small" disabled={make.isPending} onClick={() => make.mutate({ body: {} })}>Store those of this release</Button><Button kind="small" onClick={() => setOpen({ what: "edit", page: null })}>Write a page</Button></span>}>
      <p className="panel-body small muted">
        What an agent should know of this gateway, as SKILL.md files. Pages of the gateway's own are made when they are read; stored ones stay as they are.
        {coverage.data === undefined ? null : ` ${coverage.data.api.have + coverage.data.cli.have} of ${coverage.data.api.total + coverage.data.cli.total} are stored.`}
      </p>
      <Failure what="The pages were not stored" error={make.error} inPanel />
      <Loaded read={read} what="The pages">
        {({ skills }) => {
          const found = skills.filter(({ area, description, name }) => `${name} ${area ?? ""} ${description}`.toLowerCase().includes(wanted))
          const [own, shipped] = [true, false].map((isOwn) => found.filter(({ category }) => category === "own" === isOwn))
          return (
            <>
              {own?.length ? <List label="Pages of yours" pages={own} onOpen={setOpen} /> : null}
              <details className="list-group" open={wanted !== ""}><summary className="panel-head">{counted(shipped?.length ?? 0, "page", "pages")} of the gateway's own</summary><List label="Pages of the gateway" pages={shipped ?? []} onOpen={setOpen} /></details>
            </>
          )
        }}
      </Loaded>
      {open?.what === "edit" ? <Edit page={open.page} onClose={close} /> : null}
      {open?.what === "remove" && open.page !== null ? (
        <Confirm title={`Remove ${open.page.name}?`} confirm="Remove the page" pending={remove.isPending} onClose={close} onConfirm={() => remove.mutate({ params: { id: open.page?.id ?? "" } })} failed="The page was not removed" error={remove.error}>
          <p>Agents that read it keep what they have.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}
