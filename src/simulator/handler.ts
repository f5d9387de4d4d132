/**
 * One request, from its head to the plan of its reply: whose key, which format, which script, is it valid; then a player plays it.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { handleControl } from "./control.ts"
import { catalogue, isCatalogue } from "./formats/catalogues.ts"
import * as Form from "#src/wire/form/Form.ts"
import * as FormReader from "#src/wire/form/FormReader.ts"
import { formatOf } from "./formats/index.ts"
import { renderChatError } from "./formats/errors.ts"
import type { Format, SimulatedRefusal } from "./formats/Format.ts"
import { chunkOf, type SimulatedFrame } from "./framing.ts"
import { BUILT_IN, scriptOf } from "./models.ts"
import type { Pacer } from "./Pacer.ts"
import * as Plans from "./plans.ts"
import type { AnswerPlan } from "./plans.ts"
import { Player } from "./Player.ts"
import type { Rules } from "./Rules.ts"
import { decodeScript, merge, type Script } from "./Script.ts"
import type { SimulatorSettings } from "./Settings.ts"
import type { TruthEntry, TruthLog } from "./TruthLog.ts"

export interface Core {
  readonly settings: SimulatorSettings
  readonly rules: Rules
  readonly log: TruthLog
  readonly pacer: Pacer
  /** A new request id, unique for this simulator. */
  readonly nextId: () => string
}

const PLAIN: Pick<Format, "renderError"> = { renderError: renderChatError }
/** Bounds of the shared replies: how many, and how large one may be. */
const SHARED_REPLIES = 64
const SHARED_BYTES = 8 * 1024 * 1024

export const keyOf = (headers: IncomingHttpHeaders, query: string): string | null => {
  const authorization = headers.authorization
  if (authorization !== undefined) return /^bearer\s+/i.test(authorization) ? authorization.replace(/^bearer\s+/i, "") : authorization
  for (const name of ["x-api-key", "xi-api-key", "api-key", "x-goog-api-key", "x-subscription-token"]) {
    const value = headers[name]
    if (typeof value === "string") return value
  }
  return query.includes("key=") ? new URLSearchParams(query).get("key") : null
}

interface Shared {
  readonly plan: AnswerPlan
  readonly frames: ReadonlyArray<SimulatedFrame>
  readonly model: string | null
  readonly stream: boolean
}

export const makeHandler = (core: Core): (req: IncomingMessage, res: ServerResponse) => void => {
  const { log, pacer, rules, settings } = core
  const shared = new Map<string, Shared>()

  const begin = (req: IncomingMessage, path: string, query: string): TruthEntry =>
    log.open({
      id: core.nextId(),
      method: req.method ?? "GET",
      path,
      query,
      headers: req.headers,
      key: keyOf(req.headers, query),
      port: req.socket.remotePort ?? null
    })

  const play = (req: IncomingMessage, res: ServerResponse, entry: TruthEntry, plan: AnswerPlan): void => {
    const player = new Player(req, res, plan, pacer, log, entry)
    const playing = entry.rule === null ? undefined : rules.playingOf(entry.rule)
    if (playing !== undefined) {
      playing.add(player)
      res.once("close", () => playing.delete(player))
    }
    player.play()
  }

  const refuse = (req: IncomingMessage, res: ServerResponse, entry: TruthEntry, format: Pick<Format, "renderError">, script: Script, refused: SimulatedRefusal): void => play(req, res, entry, Plans.refusal(format, script, refused, entry.id))

  const keyRefused = (script: Script, key: string | null): boolean =>
    (settings.keys !== null && (key === null || !settings.keys.has(key))) ||
    (script.requireKey !== undefined && script.requireKey !== key)

  const unauthorized = (key: string | null) => ({
    status: 401,
    code: key === null ? null : "invalid_api_key",
    message: key === null
      ? "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
      : `Incorrect API key provided: ****${key.slice(-4)}.`
  })

  /** Model, header and rule, in rising strength; undefined when the model is unknown and no rule takes the request. */
  const scriptFor = (req: IncomingMessage, entry: TruthEntry, key: string | null): Result.Result<Script | undefined, string> => {
    const base = entry.model === null ? {} : settings.models.get(entry.model) ?? scriptOf(entry.model)
    let script = base === undefined ? undefined : merge(settings.defaults, base)
    const header = settings.trustHeaders ? req.headers["x-sim-script"] : undefined
    if (typeof header === "string") {
      const read = parseJson(header)
      const decoded = decodeScript(read)
      if (Result.isFailure(decoded)) return Result.fail(`x-sim-script is no script: ${String(decoded.failure)}`)
      script = merge(script ?? settings.defaults, decoded.success)
    }
    const rule = rules.size === 0 ? null : rules.take({ model: entry.model, path: entry.path, key, stream: entry.stream, headers: req.headers })
    if (rule !== null) {
      entry.rule = rule.id
      script = merge(script ?? settings.defaults, rule.rule.script)
    }
    const any = settings.models.get("*")
    return Result.succeed(script ?? (any === undefined ? undefined : merge(settings.defaults, any)))
  }

  /** A path without a format: only a rule can answer it, with a fixed reply. */
  const unknown = (req: IncomingMessage, res: ServerResponse, entry: TruthEntry, bytes: Buffer): void => {
    const key = keyOf(req.headers, entry.query)
    const text = bytes.toString()
    const body = bytes.length === 0 ? null : parseJson(text)
    log.keepBody(entry, body === undefined ? text : body, bytes.length)
    if (Predicate.isObject(body) && Predicate.isString(body["model"])) entry.model = body["model"]
    const rule = rules.take({ model: entry.model, path: entry.path, key, stream: false, headers: req.headers })
    if (rule !== null) {
      entry.rule = rule.id
      const script = merge(settings.defaults, rule.rule.script)
      if (keyRefused(script, key)) return refuse(req, res, entry, PLAIN, script, unauthorized(key))
      const fixed = Plans.fixed(PLAIN, script, entry.id)
      if (fixed !== null) return play(req, res, entry, fixed)
    }
    refuse(req, res, entry, PLAIN, {}, {
      status: 404,
      type: "invalid_request_error",
      code: "unknown_url",
      message: `Unknown request URL: ${entry.method} ${entry.path}. Please check the URL for typos.`
    })
  }

  const guarded = (res: ServerResponse, entry: TruthEntry, run: () => void): void => {
    try {
      run()
    } catch (error) {
      log.fail(entry, error)
      if (res.headersSent) res.destroy()
      else res.writeHead(500, { "content-type": "application/json" }).end(renderChatError({ status: 500, message: "The simulator failed: see the truth log." }))
    }
  }

  const answer = (req: IncomingMessage, res: ServerResponse, entry: TruthEntry, format: Format, bytes: Buffer): void => {
    const key = keyOf(req.headers, entry.query)
    const text = format.isForm === true || format.isRaw === true ? "" : bytes.toString()
    const body = format.isRaw === true ? { bytes: bytes.length, contentType: req.headers["content-type"] ?? null } : format.isForm === true ? fieldsOf(bytes, req.headers["content-type"]) : entry.method === "POST" ? parseJson(text) : {}
    log.keepBody(entry, body === undefined ? text : body, bytes.length)
    if (Predicate.isObject(body)) {
      const identity = format.identify?.(entry.path, body, entry.query) ?? { model: body["model"], stream: body["stream"] === true }
      if (Predicate.isString(identity.model)) entry.model = identity.model
      entry.stream = identity.stream
    }
    const found = scriptFor(req, entry, key)
    if (Result.isFailure(found)) return refuse(req, res, entry, format, {}, { status: 400, message: found.failure })
    const script = found.success ?? settings.defaults
    if (keyRefused(script, key)) return refuse(req, res, entry, format, script, unauthorized(key))
    const fixed = Plans.fixed(format, script, entry.id)
    if (fixed !== null) return play(req, res, entry, fixed)
    if (!Predicate.isObject(body)) {
      return refuse(req, res, entry, format, script, {
        status: 400,
        code: null,
        message: "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. " +
          "The API expects a JSON payload, but what was sent was not valid JSON.)"
      })
    }
    const read = format.read(body, { method: entry.method, headers: req.headers, path: entry.path, query: entry.query })
    if (Result.isFailure(read)) return refuse(req, res, entry, format, script, read.failure)
    if (found.success === undefined) {
      return refuse(req, res, entry, format, script, {
        status: 404,
        code: "model_not_found",
        message: `The model \`${read.success.model}\` does not exist or you do not have access to it.`
      })
    }
    const plan = Plans.answered(format, read.success, script, entry.id, log.now())
    play(req, res, entry, sharing() && script.requireKey === undefined ? share(entry, text, plan) : plan)
  }

  /** Replies are shared only while nothing but the request decides about them. */
  const sharing = (): boolean => settings.shareReplies && rules.size === 0 && settings.keys === null && !settings.trustHeaders

  const sharedKey = (entry: TruthEntry, text: string): string => `${entry.path}?${entry.query}\n${text}`

  const share = (entry: TruthEntry, text: string, plan: AnswerPlan): AnswerPlan => {
    const frames: Array<SimulatedFrame> = []
    let bytes = 0
    for (let next = plan.frames.next(); next.done !== true; next = plan.frames.next()) {
      bytes += next.value.bytes.length
      frames.push({ ...next.value, wire: next.value.raw === true ? next.value.bytes : chunkOf(next.value.bytes) })
    }
    if (bytes <= SHARED_BYTES) {
      if (shared.size >= SHARED_REPLIES) shared.clear()
      shared.set(sharedKey(entry, text), { plan, frames, model: entry.model, stream: entry.stream })
    }
    return { ...plan, frames: frames.values() }
  }

  const models = (req: IncomingMessage, res: ServerResponse, entry: TruthEntry): void => {
    const key = keyOf(req.headers, entry.query)
    const rule = rules.take({ model: null, path: entry.path, key, stream: false, headers: req.headers })
    if (rule !== null) entry.rule = rule.id
    const merged = merge(settings.defaults, rule?.rule.script)
    if (keyRefused(merged, key)) return refuse(req, res, entry, PLAIN, merged, unauthorized(key))
    const fixed = Plans.fixed(PLAIN, merged, entry.id)
    if (fixed !== null) return play(req, res, entry, fixed)
    const ids = [...BUILT_IN.map((model) => model.example), ...settings.models.keys()].filter((id) => id !== "*")
    const body = catalogue(entry.path, ids, (id) => settings.models.has(id) || scriptOf(id) !== undefined)
    if (body === null) return refuse(req, res, entry, PLAIN, merged, { status: 404, code: "model_not_found", param: "model", message: "The model does not exist" })
    play(req, res, entry, Plans.whole(merged, 200, "application/json", JSON.stringify(body), entry.id))
  }

  const inference = (req: IncomingMessage, res: ServerResponse, path: string, query: string): void => {
    const entry = begin(req, path, query)
    const format = formatOf(path)
    const isModels = format === undefined && isCatalogue(path)
    if (isModels && entry.method === "GET") return guarded(res, entry, () => models(req, res, entry))
    if (isModels || (format !== undefined && entry.method !== "POST" && format.methods?.includes(entry.method) !== true)) {
      return refuse(req, res, entry, format ?? PLAIN, {}, { status: 405, code: "method_not_supported", message: `Not allowed to ${entry.method} on ${path}.` })
    }
    const gone = (): void => log.settle(entry, "client-aborted")
    res.once("close", gone)
    collect(req, settings.bodyLimitBytes, (bytes) => {
      res.removeListener("close", gone)
      if (bytes === null) return refuse(req, res, entry, format ?? PLAIN, {}, { status: 413, message: `The request body is larger than ${settings.bodyLimitBytes} bytes.` })
      if (format === undefined) return guarded(res, entry, () => unknown(req, res, entry, bytes))
      if (sharing()) {
        const hit = shared.get(sharedKey(entry, bytes.toString()))
        if (hit !== undefined) {
          entry.model = hit.model
          entry.stream = hit.stream
          return play(req, res, entry, { ...hit.plan, frames: hit.frames.values() })
        }
      }
      guarded(res, entry, () => answer(req, res, entry, format, bytes))
    })
  }

  return (req, res) => {
    const url = req.url ?? "/"
    const mark = url.indexOf("?")
    const path = mark < 0 ? url : url.slice(0, mark)
    const query = mark < 0 ? "" : url.slice(mark + 1)
    if (path.startsWith("/__sim/")) {
      collect(req, settings.bodyLimitBytes, (bytes) => handleControl(core, req, res, path, new URLSearchParams(query), bytes))
      return
    }
    inference(req, res, path, query)
  }
}

/** Fields of a form, and of each file its name, type and size; undefined when the body is none. */
const fieldsOf = (bytes: Buffer, contentType: string | undefined): Record<string, unknown> | undefined => {
  const boundary = FormReader.boundaryOf(contentType)
  const form = boundary === null ? null : Form.parse(bytes, boundary)
  return form === null || !("parts" in form) ? undefined : Form.fieldsOf(form)
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Calls back once with the whole body, or with null as soon as it is too large; never when the client leaves. */
const collect = (req: IncomingMessage, limit: number, done: (bytes: Buffer | null) => void): void => {
  const chunks: Array<Buffer> = []
  let size = 0
  let over = false
  req.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (over) return
    if (size > limit) {
      over = true
      chunks.length = 0
      return done(null)
    }
    chunks.push(chunk)
  })
  req.on("end", () => {
    if (!over) done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  })
  req.on("error", () => {})
}
