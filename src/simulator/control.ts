/**
 * The control endpoints under `/__sim`: rules, truth log and totals of a simulator that runs in another process.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Core } from "./handler.ts"
import { decodeRules } from "./Script.ts"
import type { TruthEntry, TruthFilter, TruthOutcome } from "./TruthLog.ts"
import { matches } from "./TruthLog.ts"

/** Longest wait of `GET /__sim/requests?wait=`, in milliseconds. */
const MAX_WAIT_MS = 60_000
const DEFAULT_WAIT_MS = 10_000
const DEFAULT_LIMIT = 1000

const OUTCOMES: ReadonlyArray<TruthOutcome> = ["open", "completed", "client-aborted", "reset-by-script", "closed-by-script", "ended-by-script", "error"]

const reply = (res: ServerResponse, status: number, body: unknown): void => {
  const text = JSON.stringify(body)
  res.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
  res.end(text)
}

const problem = (res: ServerResponse, status: number, message: string): void =>
  reply(res, status, { error: { message, type: "sim_control_error", param: null, code: null } })

const filterOf = (query: URLSearchParams): Result.Result<TruthFilter, string> => {
  const text = (name: string) => query.has(name) ? { [name]: query.get(name) ?? "" } : {}
  const outcome = query.get("outcome")
  if (outcome !== null && !OUTCOMES.some((one) => one === outcome)) {
    return Result.fail(`outcome '${outcome}' is unknown: use one of ${OUTCOMES.join(", ")}`)
  }
  const since = query.get("since")
  if (since !== null && !Number.isFinite(Number(since))) return Result.fail(`since '${since}' is no number of milliseconds since the epoch`)
  return Result.succeed({
    ...text("id"),
    ...text("model"),
    ...text("key"),
    ...text("path"),
    ...text("rule"),
    ...(outcome === null ? {} : { outcome: outcome as TruthOutcome }),
    ...(since === null ? {} : { since: Number(since) })
  })
}

const numberOf = (query: URLSearchParams, name: string, fallback: number): number => {
  const value = Number(query.get(name) ?? fallback)
  return Number.isFinite(value) && value >= 0 ? value : fallback
}

const requests = (core: Core, res: ServerResponse, query: URLSearchParams): void => {
  const filter = filterOf(query)
  if (Result.isFailure(filter)) return problem(res, 400, filter.failure)
  const limit = numberOf(query, "limit", DEFAULT_LIMIT)
  const send = (timedOut: boolean): void => {
    const found = core.log.query(filter.success)
    const shown = limit === 0 ? [] : found.slice(-limit)
    reply(res, 200, { requests: shown, matched: found.length, dropped: core.log.dropped, timedOut })
  }
  if (!query.has("wait")) return send(false)
  // Long poll: answers when so many matching requests have ended.
  const wanted = numberOf(query, "wait", 1)
  const timeout = Math.min(numberOf(query, "timeoutMs", DEFAULT_WAIT_MS), MAX_WAIT_MS)
  const stop = whenEnded(core, filter.success, wanted, () => {
    clearTimeout(timer)
    send(false)
  })
  const timer = setTimeout(() => {
    stop()
    send(true)
  }, timeout)
  res.once("close", () => {
    clearTimeout(timer)
    stop()
  })
}

/** Calls back, on a later turn, once `count` entries that match have ended; returns how to stop waiting. */
export const whenEnded = (core: Pick<Core, "log">, filter: TruthFilter, count: number, done: (entries: ReadonlyArray<TruthEntry>) => void): () => void => {
  const ended = (): ReadonlyArray<TruthEntry> =>
    core.log.query().filter((entry) => matches(filter, entry) && (filter.outcome === "open" || entry.outcome !== "open"))
  let over = false
  const check = (): void => {
    if (over) return
    const found = ended()
    if (found.length < count) return
    stop()
    done(found)
  }
  const remove = core.log.listen(check)
  const stop = (): void => {
    over = true
    remove()
  }
  queueMicrotask(check)
  return stop
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const rules = (core: Core, req: IncomingMessage, res: ServerResponse, bytes: Buffer): void => {
  if (!(req.headers["content-type"] ?? "").startsWith("application/json")) return problem(res, 415, "rules are sent as application/json")
  let body: unknown
  try {
    body = JSON.parse(bytes.toString())
  } catch {
    return problem(res, 400, "the body is no JSON")
  }
  const read = decodeRules(Array.isArray(body) ? body : [body])
  if (Result.isFailure(read)) return problem(res, 400, `not a rule: ${String(read.failure)}`)
  reply(res, 200, { ids: read.success.map((rule) => core.rules.add(rule)) })
}

export const handleControl = (core: Core, req: IncomingMessage, res: ServerResponse, path: string, query: URLSearchParams, bytes: Buffer | null): void => {
  const route = `${req.method ?? "GET"} ${path.slice("/__sim".length)}`
  if (route === "GET /health") return reply(res, 200, { status: "ok", open: core.log.summary().open })
  if (!core.settings.control) return problem(res, 404, "control endpoints are off: the simulator listens beyond loopback, or was started without them")
  if (bytes === null) return problem(res, 413, "the body is too large")
  switch (route) {
    case "GET /summary":
      return reply(res, 200, core.log.summary())
    case "DELETE /summary":
      core.log.clearSummary()
      return reply(res, 200, core.log.summary())
    case "GET /requests":
      return requests(core, res, query)
    case "DELETE /requests":
      core.log.clear()
      return reply(res, 200, { cleared: true })
    case "GET /rules":
      return reply(res, 200, { rules: core.rules.list().map(({ id, matched, rule, used }) => ({ ...rule, id, matched, used })) })
    case "POST /rules":
      return rules(core, req, res, bytes)
    case "DELETE /rules":
      core.rules.clear()
      return reply(res, 200, { cleared: true })
  }
  if (req.method === "DELETE" && path.startsWith("/__sim/rules/")) {
    const id = decoded(path.slice("/__sim/rules/".length))
    return core.rules.remove(id) ? reply(res, 200, { removed: id }) : problem(res, 404, `no rule '${id}'`)
  }
  problem(res, 404, `no control endpoint ${Predicate.isString(req.method) ? req.method : ""} ${path}`)
}
