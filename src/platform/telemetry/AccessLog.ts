/** One line per client request, sampled; a request that failed is always written. */
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { LogFormat } from "./Log.ts"
import * as Redact from "./redact.ts"

export interface Options {
  /** 0 = off, 1 = every request, n = every n-th that succeeded, Infinity = failures only. */
  readonly every: number
  readonly format: LogFormat
  readonly write: (line: string) => void
  /** The name of a provider's id. */
  readonly nameOf: (provider: string) => string
}

/** No key starts like a word of an id. */
const WORD = String.raw`(?!(?:sk|pk|rk|gsk|xai|gwa|vlo|hf|gh[posu]|glpat|whsec|nvapi|pplx|fw|csk|r8|tvly|xox[abeprs]?)[-_.]|AIza|AKIA|ASIA|ya29|eyJ)\w+`
/** Ids and models as clients usually write them: nothing to escape, and no word that a key may be. */
const PLAIN = new RegExp(`^${WORD}(?:[./:-]+${WORD})*[./:-]*$`)
const PLAIN_MAX = 64

/** A JSON string of text that may come from elsewhere. */
const foreign = (text: string): string => text.length <= PLAIN_MAX && PLAIN.test(text) ? `"${text}"` : JSON.stringify(Redact.text(text.slice(0, 256)))
const foreignOrNull = (text: string | null): string => text === null ? "null" : foreign(text)
const tenths = (ms: number): number => Math.round(ms * 10) / 10

let lastSecond = -1
let lastPrefix = ""

/** ISO 8601 with ms; the text up to the second is made once per second. */
const isoTime = (ms: number): string => {
  const second = Math.floor(ms / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastPrefix = new Date(second * 1000).toISOString().slice(0, 20)
  }
  return `${lastPrefix}${String(Math.floor(ms - second * 1000)).padStart(3, "0")}Z`
}

/** Characters of the line about the targets. */
const maxRoute = 2_048

/** A line of text stays one line. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?")
const routed = (s: RequestSummary): s is RequestSummary & { readonly route: string } => s.route !== undefined && s.route !== ""
const routeText = (route: string): string => Redact.text(route.slice(0, maxRoute))

const json = (s: RequestSummary, provider: string | null, time: string, failed: boolean): string =>
  `{"time":"${time}","level":"${failed ? "warn" : "info"}","message":"request","requestId":${foreign(s.requestId)},"method":${foreign(s.method)},` +
  `"endpoint":${foreign(s.endpoint)},"status":${s.status},"clientStatus":${s.clientStatus === 0 ? "null" : s.clientStatus},"outcome":"${s.outcome}","errorCode":${foreignOrNull(s.errorCode)},` +
  `"requestedModel":${foreignOrNull(s.requestedModel)},"provider":${foreignOrNull(provider)},` +
  `"model":${foreignOrNull(s.model)},"apiKeyId":${foreignOrNull(s.apiKeyId)},"stream":${s.stream},` +
  `"attempts":${s.attempts},"cache":"${s.cache}","latencyMs":${tenths(s.latencyMs)},"ttftMs":${s.ttftMs === null ? "null" : tenths(s.ttftMs)},"bytesOut":${s.bytesOut}${routed(s) ? `,"route":${JSON.stringify(routeText(s.route))}` : ""}}`

const pretty = (s: RequestSummary, time: string): string =>
  `${time.slice(11, 23)} ${s.status} ${s.method} ${s.endpoint} ${s.requestedModel === null ? "-" : foreign(s.requestedModel)} ${Math.round(s.latencyMs)} ms ${s.outcome} ${foreign(s.requestId)}${routed(s) ? ` (${printable(routeText(s.route))})` : ""}`

export class AccessLog {
  readonly #options: Options
  #succeeded = 0

  constructor(options: Options) {
    this.#options = options
  }

  requestSettled(summary: RequestSummary): void {
    const { every, format, nameOf, write } = this.#options
    if (every === 0) return
    const failed = summary.status >= 500
    // A client's own mistake is logged too: its request id is what the client will quote.
    if (summary.status < 400 && (every === Number.POSITIVE_INFINITY || this.#succeeded++ % every !== 0)) return
    const time = isoTime(summary.startedAt + summary.latencyMs)
    const { provider } = summary
    write(format === "json" ? json(summary, provider === null ? null : nameOf(provider), time, failed) : pretty(summary, time))
  }
}
