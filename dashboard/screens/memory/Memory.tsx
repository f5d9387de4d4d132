/** What is remembered for whom, what conversations are told of it, and the settings of both. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../../api/call.ts"
import { useEveryKey } from "../../api/everyKey.ts"
import { useChange, useRead } from "../../api/query.ts"
import { count, percent, tokens } from "../../format/numbers.ts"
import { filled } from "../../format/members.ts"
import { Empty, Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { choicesOf, SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Actions, Head, pageOf, Pager, pageText, Table } from "../../parts/Table.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button, IconButton } from "../../parts/Button.tsx"
import { Clear } from "./Clear.tsx"
import { Edit } from "./Edit.tsx"
import { Engine, Settings } from "./Settings.tsx"
import { Told } from "./Told.tsx"
import { againOf, type Entry, kinds, kindWord, nobody, ownerOf } from "./words.ts"

const EVERY_MS = 10_000
const ON_A_PAGE = 50

type Open = { readonly what: "add" | "clear" } | { readonly what: "edit"; readonly entry: Entry } | null

const Memory = () => {
  const { key: owner = "", page: asked = "", search = "", type = "" } = useSearch({ from: "/memory" })
  const navigate = useNavigate({ from: "/memory" })
  const page = pageOf(asked)
  const read = useRead("GET /api/memory", { query: { apiKeyId: ownerOf(owner), type, q: search, limit: ON_A_PAGE, page: page + 1 } }, { everyMs: EVERY_MS })
  const settings = useRead("GET /api/settings/memory")
  const keys = useEveryKey()
  const [open, setOpen] = useState<Open>(null)
  const close = (): void => setOpen(null)
  const set = (change: { readonly search?: string; readonly key?: string; readonly type?: string; readonly page?: string }): void =>
    void navigate({ search: filled({ search, key: owner, type, page: "", ...change }), replace: true })
  const choices = [nobody, ...choicesOf(keys.data ?? [])]
  const nameOf = (id: string): string => id === "" ? nobody.word : choices.find(({ value }) => value === id)?.word ?? id
  const remove = useChange("DELETE /api/memory/:id", ["GET /api/memory"], undefined, {
    said: "The entry is forgotten.",
    undo: (_, { params }) => {
      const gone = read.data?.data.find(({ id }) => id === params?.id)
      return gone === undefined ? null : () => call("POST /api/memory", { body: againOf(gone) })
    }
  })
  const isFiltered = owner !== "" || type !== "" || search !== ""
  const add = <Button kind="primary" onClick={() => setOpen({ what: "add" })}><Icon name="plus" size={16} />Remember something</Button>
  return (
    <Page title="Memory" lead="Notes for callers, which the models of their later conversations are told. Nothing is taken out of conversations by itself." actions={add}>
      {!isSettled(read, settings, keys) ? <Skeleton rows={8} /> : (
        <>
          {settings.data?.memoryEnabled !== false ? null : <p className="panel panel-body">Nothing is told: the switch below is off.</p>}
          <Panel title="Entries" actions={read.data === undefined ? null : <span className="small muted number">{count(read.data.total)} found, {tokens(read.data.stats.tokensUsed)} tokens in all{read.data.stats.hits + read.data.stats.misses === 0 ? "" : `; ${percent(read.data.stats.hitRate)} of conversations on this node were told something`}</span>}>
            <div className="panel-head">
              <div className="filters">
                <TextField className="field-wide" label="Find" type="search" value={search} placeholder="Part of a name or a text" onChange={(value) => set({ search: value })} />
                <SelectField label="Of" value={owner} choices={[{ value: "", word: "Everybody" }, ...choices]} onChange={(value) => set({ key: value })} />
                <SelectField label="Kind" value={type} choices={[{ value: "", word: "All" }, ...kinds]} onChange={(value) => set({ type: value })} />
              </div>
              {owner === "" ? null : <Button kind="small danger" onClick={() => setOpen({ what: "clear" })}>Forget …</Button>}
            </div>
            <Failure what="The entry was not forgotten" error={remove.error} inPanel />
            <Loaded read={read} what="The entries">
              {({ data, totalPages }) => data.length === 0 ? (isFiltered ? <Empty icon="search" title="No entry fits" action={<Button onClick={() => void navigate({ search: {} })}>Show all</Button>} /> : <Empty icon="memory" title="Nothing is remembered yet" action={add}>Agents remember by the tool <code>gateway_memory_add</code>.</Empty>) : (
                <>
                  <Table label="Entries" isStale={read.isPlaceholderData}>
                    <Head of={["Name", "What models are told", "Kind", "Of", "Session", "Changed", "Ends in", ""]} />
                    <tbody>
                      {data.map((entry) => (
                        <tr key={entry.id}>
                          <td className="cut" title={entry.key}><strong>{entry.key}</strong></td><td className="cut" title={entry.content}>{entry.content}</td><td>{kindWord(entry.type)}</td><td className="cut" title={nameOf(entry.apiKeyId)}>{nameOf(entry.apiKeyId)}</td><td className="cut" title={entry.sessionId}>{entry.sessionId || "all"}</td><td><Ago at={entry.updatedAt} /></td><td>{entry.expiresAt === null ? "never" : <Countdown until={entry.expiresAt} />}</td>
                          <Actions>
                            <IconButton icon="edit" word="Edit" of={entry.key} onClick={() => setOpen({ what: "edit", entry })} />
                            <IconButton icon="trash" word="Forget" of={entry.key} disabled={remove.isPending} onClick={() => remove.mutate({ params: { id: entry.id } })} />
                          </Actions>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
                  <Pager label="entries" page={page} hasOlder={page + 1 < totalPages} onTurn={(next) => set({ page: pageText(next) })} />
                </>
              )}
            </Loaded>
          </Panel>
          <Told />
          <div className="columns">
            <Loaded read={settings} what="The settings of the memory">{(stored) => <Settings stored={stored} />}</Loaded>
            <Engine everyMs={EVERY_MS} />
          </div>
        </>
      )}
      {open?.what === "add" ? <Edit entry={null} owner={owner} onClose={close} /> : null}
      {open?.what === "edit" ? <Edit entry={open.entry} owner={owner} onClose={close} /> : null}
      {open?.what === "clear" ? <Clear owner={owner} name={nameOf(owner)} onClose={close} /> : null}
    </Page>
  )
}

export default Memory
