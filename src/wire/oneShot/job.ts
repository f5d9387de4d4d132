/** What the codecs of servers share that answer with jobs: how often is asked, what ends the asking, and how large a status may be. Pure. */
import type { JobReply, Poll } from "#actors/request/ports/Face.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import * as OneShotJson from "./oneShotJson.ts"

/** Between two questions: the first comes soon, the later ones at the longest pause, ms. */
const firstPauseMs = 1_000
const longestPauseMs = 5_000
const pauseStepMs = 500
/** Questions about one job. */
const mostPolls = 500
/** Refused questions in a row after which the job is given up: a job that is paid for outlives a short failure. */
const mostFailures = 3
/** Largest reply that may be the state of a job. */
const maxStateBytes = 256 * 1024
const longestId = 256

/** A server that names a wait is not asked before it is over; one that names a longer wait than this is asked after this, ms. */
const longestWaitMs = 60_000

const pauseOf = (polls: number, headers: ReadonlyArray<string>): number => {
  const pause = Math.min(longestPauseMs, firstPauseMs + polls * pauseStepMs)
  const seconds = Number(headerOf(headers, "retry-after"))
  return Number.isFinite(seconds) ? Math.min(longestWaitMs, Math.max(pause, seconds * 1_000)) : pause
}

/** An id as a part of an address that is relative to where was asked last; null when it is none. */
export const idOf = (value: unknown): string | null =>
  typeof value === "string" && value.length <= longestId && /^[\w.:~-]+$/.test(value) && !/^\.+$/.test(value) ? encodeURIComponent(value) : null

/**
 * What a reply says of its job: where it is asked for next, or that it is the last reply. `moves`: the job goes on at another place;
 * otherwise later questions go where the first one went. `atOnce`: without a pause. `body`: what is sent there.
 */
export type State = { readonly ask: string; readonly moves?: boolean; readonly atOnce?: boolean; readonly body?: Uint8Array } | "over"

/** The state of a job that runs under an id, if that is one. */
export const running = (id: string | null, prefix = ""): State => id === null ? "over" : { ask: `${prefix}${id}` }

/** `noun`: what is made; `limitMs`: how long it may take; `stateOf`: reads one state of the job. */
export const next = (reply: JobReply, noun: string, limitMs: number, stateOf: (state: Readonly<Record<string, unknown>>) => State): Poll | PublicError | null => {
  const { elapsedMs, polls } = reply
  const address = nextAddress(reply, stateOf)
  if (address === null) return null
  if (elapsedMs >= limitMs || polls >= mostPolls) return Errors.make("gateway_timeout", `The ${noun} was not made within ${limitMs / 1_000} s.`)
  const { atOnce = false, body, url } = address
  return { url, afterMs: atOnce ? 0 : pauseOf(polls, reply.headers), ...(body === undefined ? {} : { body }) }
}

interface Address {
  /** Null: where was asked last. */
  readonly url: string | null
  readonly atOnce?: boolean | undefined
  readonly body?: Uint8Array | undefined
}

const again: Address = { url: null }

const nextAddress = ({ body, failures, headers, polls, status }: JobReply, stateOf: (state: Readonly<Record<string, unknown>>) => State): Address | null => {
  if (polls > 0 && (StatusReason.isPassing(status) || StatusReason.of(status) === "none")) return failures <= mostFailures ? again : null
  const moved = polls > 0 && status >= 300 && status < 400 ? headerOf(headers, "location") : undefined
  if (moved !== undefined) return { url: moved }
  if (!StatusReason.isOk(status)) return null
  const type = headerOf(headers, "content-type") ?? "application/json"
  const state = body.length > maxStateBytes || !/json/i.test(type) ? null : OneShotJson.recordOf(body)
  const said = state === null ? "over" : stateOf(state)
  if (said === "over") return null
  // Later replies may not name the job, or name it as if it were asked for from elsewhere.
  return polls > 0 && said.moves !== true ? again : { url: said.ask, atOnce: said.atOnce, body: said.body }
}
