/** How a program that opens a tunnel stands, and what becomes of that when it says or does something. Pure. */
import * as Schema from "effect/Schema"
import * as Supervisor from "#actors/Supervisor.ts"

export const kinds = ["cloudflared", "ngrok", "tailscale"] as const
export type Kind = typeof kinds[number]
export const Phase = Schema.Literals(["running", "stopped", "needs_auth", "error"])
export type Phase = typeof Phase.Type

/** `stopped` while it is off, and until it has said something for the first time. Times: ms since the epoch. */
export const State = Schema.Struct({
  phase: Phase,
  /** The address that it said; it is open from phase `running` on. */
  url: Schema.NullOr(Schema.String),
  isConnected: Schema.Boolean,
  /** This life of it asked for a sign-in. */
  hasAsked: Schema.Boolean,
  /** Where its operator must agree or sign in. */
  authUrl: Schema.NullOr(Schema.String),
  lastError: Schema.NullOr(Schema.String),
  /** Lives in a row that ended soon. */
  failures: Schema.Int,
  sinceMs: Schema.NullOr(Schema.Finite),
  nextTryMs: Schema.NullOr(Schema.Finite)
})
export type State = typeof State.Type

/** What a line of a program says. */
export type Heard =
  | { readonly _tag: "Url"; readonly url: string }
  | { readonly _tag: "Connected" }
  | { readonly _tag: "NeedsAuth"; readonly message: string; readonly authUrl: string | null }
  | { readonly _tag: "Problem"; readonly message: string }

export type Event =
  | { readonly _tag: "Started" }
  | { readonly _tag: "Ended"; readonly message: string }
  | Heard

export const stopped: State = { phase: "stopped", url: null, isConnected: false, hasAsked: false, authUrl: null, lastError: null, failures: 0, sinceMs: null, nextTryMs: null }

/** A tunnel that stood this long, ms, was well: the waits begin small again. */
export const WELL_MS = Supervisor.WELL_AFTER_MS
/** The waits between two lives of a program. */
export const backoff = Supervisor.STEADY

const opened = (state: State, now: number): State =>
  state.phase === "running" || state.url === null || !state.isConnected ? state : { ...state, phase: "running", hasAsked: false, authUrl: null, lastError: null, sinceMs: now, nextTryMs: null }

const over = (state: State, message: string, now: number): State => {
  const wasWell = state.phase === "running" && state.sinceMs !== null && now - state.sinceMs >= WELL_MS
  const failures = wasWell ? 1 : state.failures + 1
  const waits = state.hasAsked
  return {
    phase: waits ? "needs_auth" : "error", url: null, isConnected: false, hasAsked: false, authUrl: waits ? state.authUrl : null,
    // What it asked for says more than how it ended.
    lastError: waits ? state.lastError : message, failures, sinceMs: waits ? state.sinceMs : now,
    nextTryMs: now + (waits ? backoff.mostMs : Supervisor.backoffMs(backoff, failures))
  }
}

export const next = (state: State, event: Event, now: number): State => {
  switch (event._tag) {
    case "Started":
      return { ...state, phase: state.phase === "running" ? "stopped" : state.phase, url: null, isConnected: false, hasAsked: false, nextTryMs: null }
    case "Url":
      return opened({ ...state, url: event.url }, now)
    case "Connected":
      return opened({ ...state, isConnected: true }, now)
    case "NeedsAuth":
      return {
        ...state, phase: "needs_auth", url: null, isConnected: false, hasAsked: true, authUrl: event.authUrl ?? state.authUrl,
        // The first words say more than the last.
        lastError: state.hasAsked ? state.lastError : event.message,
        sinceMs: state.phase === "needs_auth" ? state.sinceMs : now
      }
    case "Problem":
      return state.hasAsked ? state : { ...state, lastError: event.message }
    case "Ended":
      return over(state, event.message, now)
  }
}
