/** Installs a plugin: from a folder on the gateway's machine, or from a manifest and its code. */
import { useState } from "react"
import { useChange } from "../../api/query.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { AreaField, SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Submit } from "../../parts/edit/Submit.tsx"
import { example, objectOf } from "./config.ts"

const sources = [{ value: "folder", word: "A folder on the gateway's machine" }, { value: "code", word: "A manifest and its code" }]

export const Install = ({ onClose }: { readonly onClose: () => void }) => {
  const [source, setSource] = useState("folder")
  const [path, setPath] = useState("")
  const [manifest, setManifest] = useState(example.manifest)
  const [code, setCode] = useState(example.code)
  const install = useChange("POST /api/plugins", ["GET /api/plugins"], onClose, { said: ({ plugin }) => `${plugin.name} is installed${plugin.status === "active" ? " and active" : "; its hooks are called once it is active"}.` })
  const parsed = objectOf(manifest)
  const isReady = source === "folder" ? path.trim() !== "" : parsed !== undefined && code.trim() !== ""
  const go = (): void => {
    if (source === "folder") install.mutate({ body: { path: path.trim() } })
    else if (parsed !== undefined) install.mutate({ body: { manifest: parsed, code } })
  }
  return (
    <Dialog title="Install a plugin" wide onClose={onClose} onSubmit={go}>
      <SelectField label="From" value={source} choices={sources} onChange={setSource} />
      {source === "folder" ? <TextField label="Folder" value={path} onChange={setPath} placeholder="house-rules" hint="Below GATEWAY_PLUGINS_DIR; it holds plugin.json and the main file. It is read once." wrong={wrongWith(install.error, "path")} /> : (
        <>
          <AreaField label="Manifest, JSON" value={manifest} rows={9} onChange={setManifest} wrong={parsed === undefined ? "This is no JSON object" : wrongWith(install.error, "manifest")} />
          <AreaField label="Code" value={code} rows={8} onChange={setCode} hint="An ES module without imports. Each hook of the manifest is an exported function." wrong={wrongWith(install.error, "code")} />
        </>
      )}
      <Submit failed="The plugin was not installed" of={install} isOff={!isReady} onClose={onClose}>Install it</Submit>
    </Dialog>
  )
}
