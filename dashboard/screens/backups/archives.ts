/** Archives as they leave and come in: never through the memory of the page, and a passphrase in a header alone. */
import { ask, events, Problem, problemOf } from "../../api/call.ts"
import type { Answer } from "../../api/contract.ts"

export type Imported = Answer<"POST /api/db-backups/import">

/** Bytes that the gateway takes. */
export const MOST_BYTES = 100_000_000
export const LEAST_PASSPHRASE = 12
export const MOST_PASSPHRASE = 1_024

export const contents = [
  { value: "export", word: "What is configured, and the keys of clients" }, { value: "exportAll", word: "All of it, with the ledger and the audit log" }
] as const
export type What = typeof contents[number]["value"]

/** What a header can carry: a browser refuses other characters. */
export const isSendable = (passphrase: string): boolean => Array.from(passphrase).every((each) => each >= " " && each <= "~")

const headersOf = (passphrase: string): Readonly<Record<string, string>> => passphrase === "" ? {} : { "x-backup-passphrase": passphrase }

/** What browsers have that write downloads to the disk as they come; others keep them outside of the page's memory, too. */
interface Picker {
  readonly showSaveFilePicker?: (options: { readonly suggestedName: string }) => Promise<{ readonly createWritable: () => Promise<WritableStream<Uint8Array>> }>
}

/** As other calls do it: a session that is over is signed in again over the page. */
const refusalOf = (reply: Response, said: unknown): Problem => {
  if (reply.status === 401) window.dispatchEvent(new Event(events.signedOut))
  return problemOf(reply, said)
}

const nameIn = (reply: Response): string => /filename="?([\w.-]{1,200})"?/.exec(reply.headers.get("content-disposition") ?? "")?.[1] ?? "gateway.gwb"

const handOver = (blob: Blob, name: string): void => {
  const url = URL.createObjectURL(blob)
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

/** Only a header carries the passphrase, so no link can do this; without one a link is better. Answers the name of the file; null when its choice was cancelled. */
export const download = async (what: What, passphrase: string): Promise<string | null> => {
  const { showSaveFilePicker } = window as Picker
  // Asked while the press is fresh: later the browser would refuse it.
  const target = showSaveFilePicker === undefined ? undefined : await showSaveFilePicker.call(window, { suggestedName: "gateway.gwb" }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") return null
    return undefined
  })
  if (target === null) return null
  const reply = await ask(`/api/db-backups/${what}`, { headers: headersOf(passphrase) })
  if (!reply.ok || reply.body === null) throw refusalOf(reply, await reply.json().catch(() => null))
  const name = nameIn(reply)
  if (target === undefined) handOver(await reply.blob(), name)
  else await reply.body.pipeTo(await target.createWritable())
  return name
}

/** The browser reads the file while it sends it. */
export const upload = async (file: File, passphrase: string): Promise<Imported> => {
  const reply = await ask("/api/db-backups/import", { method: "POST", body: file, headers: { "content-type": "application/octet-stream", ...headersOf(passphrase) } })
  const said: unknown = await reply.json().catch(() => null)
  if (!reply.ok) throw refusalOf(reply, said)
  if (said === null) throw new Problem("The answer is no JSON. Look into the list of backups whether the archive was brought in.", reply.status, "unreadable", { requestId: reply.headers.get("x-request-id") })
  return said as Imported
}
