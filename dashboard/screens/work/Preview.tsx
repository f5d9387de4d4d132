/** The beginning of a file as text; the rest is a download. */
import { useQuery } from "@tanstack/react-query"
import { ask, problemOf } from "../../api/call.ts"
import { bytes } from "../../format/bytes.ts"
import { Dialog } from "../../parts/Dialog.tsx"
import { Loaded } from "../../parts/Feedback.tsx"
import { contentOf } from "./content.ts"

const SHOWN_BYTES = 64_000
/** Whether there is a character that no text has: a control that is no white space. */
const isStrange = (text: string): boolean => Array.from(text.slice(0, 2_000)).some((each) => each < "\t" || each > "\r" && each < " ")

/** The first bytes of a stored file as text. */
export const useBeginning = (id: string, size: number, most = SHOWN_BYTES) => useQuery<string, Error>({
  queryKey: ["beginning", id, most],
  queryFn: async ({ signal }) => {
    if (size === 0) return ""
    const reply = await ask(`/api/files/${encodeURIComponent(id)}/content`, { signal, headers: { range: `bytes=0-${most - 1}` } })
    if (!reply.ok) throw problemOf(reply, await reply.json().catch(() => null))
    return await reply.text()
  }
})

export const Preview = ({ id, name, onClose, size }: { readonly id: string; readonly name: string; readonly size: number; readonly onClose: () => void }) => {
  const read = useBeginning(id, size)
  return (
    <Dialog title={name} wide onClose={onClose}>
      <p className="muted small">{bytes(size)}{size > SHOWN_BYTES ? `; the first ${bytes(SHOWN_BYTES)} are shown` : ""}. <a href={contentOf(id)} download={name}>Download</a></p>
      <Loaded read={read} what="The file">
        {(text) => isStrange(text) ? <p>This file is no text.</p> : text === "" ? <p>This file is empty.</p> : <pre className="well well-scroll" tabIndex={0} aria-label="Content">{text}</pre>}
      </Loaded>
    </Dialog>
  )
}
