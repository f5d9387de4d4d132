/** How the gateway is by its own word. A gateway that is not ready says so with 503, and what is wrong with it. */
import { useQuery } from "@tanstack/react-query"
import { ask, Problem } from "../api/call.ts"
import { learn } from "../api/clock.ts"
import type { Answer } from "../api/contract.ts"
import { count, duration } from "../format/numbers.ts"

export type Health = Answer<"GET /api/health">

const EVERY_MS = 10_000

const look = async (signal: AbortSignal): Promise<Health> => {
  const sent = Date.now()
  const reply = await ask("/api/health", { signal })
  const got = Date.now()
  const said = await reply.json().catch(() => null) as Health | null
  if (said?.checks === undefined) throw new Problem(`The gateway answered ${reply.status}.`, reply.status, String(reply.status))
  learn(said.time, sent, got)
  return said
}

export const useHealth = () => useQuery<Health, Error>({ queryKey: ["GET /api/health", {}], queryFn: ({ signal }) => look(signal), refetchInterval: EVERY_MS, retry: false })

/** What fails, and what becomes of requests and changes meanwhile; null while all is well. */
export const faultOf = ({ checks: { ledger, migrations, recordStore }, reason, status }: Health): { readonly what: string; readonly so: string } | null => {
  if (recordStore.status === "failed") return { what: "The database does not answer.", so: `Requests go on by the last known records; changes are refused. ${count(ledger.backlog)} rows of the ledger wait in the journal on disk.` }
  if (migrations.status === "failed") return { what: "The database's tables are of another release.", so: "Run its migrations, or start the release that they are of." }
  if (status === "refusing") return { what: "This node refuses requests.", so: reason ?? "Its journal cannot be written." }
  if (status === "outdated") return { what: "This node acts on old records.", so: reason ?? "It cannot read the newest ones." }
  if (ledger.gap !== 0) return { what: `The ledger lacks ${count(ledger.gap)} attempts.`, so: "Sums of cost are too small by them." }
  if (ledger.status === "failed") return { what: "Rows of the ledger wait for the database.", so: `The oldest of ${count(ledger.backlog)} waits for ${duration(ledger.oldestPendingMs)}. Sums of cost lack them until then.` }
  if (status === "draining") return { what: "This node stops.", so: "It ends the requests that run, and takes no new ones." }
  return null
}
