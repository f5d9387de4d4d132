/** Archives for other gateways: download one, or bring one in. */
import { useMutation } from "@tanstack/react-query"
import { useRef, useState } from "react"
import { urlOf } from "../../app/place.ts"
import * as Notes from "../../api/notes.ts"
import { queryClient } from "../../api/query.ts"
import { bytes } from "../../format/bytes.ts"
import { Confirm } from "../../parts/Dialog.tsx"
import { Failure } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { contents, download, isSendable, LEAST_PASSPHRASE, MOST_BYTES, MOST_PASSPHRASE, upload, type What } from "./archives.ts"
import { Brought } from "./Brought.tsx"

const wrongWith = (passphrase: string): string | undefined => passphrase === "" ? undefined
  : passphrase.length < LEAST_PASSPHRASE || passphrase.length > MOST_PASSPHRASE ? `${LEAST_PASSPHRASE} to ${MOST_PASSPHRASE} characters`
  : isSendable(passphrase) ? undefined : "Letters, digits and signs of ASCII alone: others cannot be sent"

const Download = () => {
  const [what, setWhat] = useState<What>("export")
  const [passphrase, setPassphrase] = useState("")
  const [again, setAgain] = useState("")
  const wrong = wrongWith(passphrase)
  const differs = passphrase !== "" && again !== "" && passphrase !== again
  const take = useMutation<string | null, Error>({
    mutationFn: () => download(what, passphrase),
    onSuccess: (name) => {
      if (name === null) return
      setPassphrase("")
      setAgain("")
      Notes.tell(`${name} is downloaded.`)
    }
  })
  const label = <><Icon name="download" size={16} />Download</>
  return (
    <Form className="stack" onSubmit={() => take.mutate()}>
      <h3>Download an archive</h3>
      <SelectField label="What is in it" value={what} choices={contents} onChange={setWhat} />
      <div className="grid-fields">
        <TextField label="Passphrase" type="password" value={passphrase} onChange={setPassphrase} hint="Empty: only this gateway, or one with the same GATEWAY_SECRET, can bring it in" wrong={wrong} />
        {passphrase === "" ? null : <TextField label="Passphrase once more" type="password" value={again} onChange={setAgain} hint="Nobody can open the archive without it" wrong={differs ? "It is another one" : undefined} />}
      </div>
      <Failure what="No archive was made" error={take.error} />
      <div className="row">
        {passphrase === "" ? <a className="button" href={urlOf(`/api/db-backups/${what}`).href} download>{label}</a> : <Button type="submit" disabled={take.isPending || wrong !== undefined || passphrase !== again}>{label}</Button>}
        <span className="small muted" role="status">{take.isPending ? "The archive is made …" : ""}</span>
      </div>
    </Form>
  )
}

const Import = () => {
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<File | null>(null)
  const [passphrase, setPassphrase] = useState("")
  const bring = useMutation<Awaited<ReturnType<typeof upload>>, Error, File>({
    mutationFn: (archive) => upload(archive, passphrase),
    onSuccess: () => {
      setFile(null)
      setPassphrase("")
      void Notes.follow(Notes.tell("The archive is brought in."))
      void queryClient.invalidateQueries()
    }
  })
  const tooLarge = file !== null && file.size > MOST_BYTES
  const wrong = wrongWith(passphrase)
  return (
    <div className="stack">
      <h3>Bring in an archive</h3>
      <p className="muted">It replaces what is configured here, keys included. What is here is backed up before.</p>
      <input
        ref={input} type="file" hidden accept=".gwb" aria-label="Archive to bring in"
        onChange={(event) => {
          bring.reset()
          setFile(event.currentTarget.files?.[0] ?? null)
          event.currentTarget.value = ""
        }}
      />
      <div className="row"><Button disabled={bring.isPending} onClick={() => input.current?.click()}><Icon name="upload" size={16} />Choose an archive</Button></div>
      {bring.data === undefined ? null : <Brought answer={bring.data} before={bring.data.preImportBackupId} />}
      {file === null ? null : (
        <Confirm
          title={`Bring in ${file.name}?`} confirm="Bring it in" typed="import" isBlocked={tooLarge || wrong !== undefined} pending={bring.isPending} onClose={() => setFile(null)} onConfirm={() => bring.mutate(file)}
          failed="The archive was not brought in" error={bring.error}
        >
          <div className="stack">
            <p>{bytes(file.size)}. Its records replace those of this gateway on all nodes; calls of its ledger are added. Requests go on meanwhile. Keys that were revoked after it was made are valid again.</p>
            {tooLarge ? <p className="failure" role="alert">An archive has at most {bytes(MOST_BYTES)}.</p> : null}
            <TextField label="Passphrase of the archive" type="password" value={passphrase} onChange={setPassphrase} hint="Empty: it was made without one" wrong={wrong} />
          </div>
        </Confirm>
      )}
    </div>
  )
}

export const Archives = () => <Panel title="Archives for other gateways"><div className="panel-body columns"><Download /><Import /></div></Panel>
