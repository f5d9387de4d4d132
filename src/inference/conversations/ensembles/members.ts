/** The models of a combo as one asks them together: a model is asked once, on whichever of its connections is free. Pure. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Candidate, Skipped } from "#src/routing/models/candidate.ts"
import type { Route } from "#src/routing/Router.ts"

/** One step's model with the connections that serve it, best first. */
export interface Seat {
  /** Step ids along the nesting path. */
  readonly path: string
  readonly name: string
  readonly prompt: string | null
  readonly candidates: ReadonlyArray<Candidate>
  /** All of them are blocked only by the gateway's guess, and are called anyway. */
  readonly lastResort: boolean
  /** Why they rest by our own guess, so that they are asked only where others are missing; null when they are free. */
  readonly rests: PublicError | null
  /** Why no target can be called; null when one can. */
  readonly missing: PublicError | null
}

/** An execution key without its connection. */
const pathOf = ({ executionKey }: Candidate): string => executionKey.slice(0, executionKey.lastIndexOf(">"))

const nameOf = ({ label, target }: Candidate): string => label ?? target.publicModel

const isSoft = ({ unavailable }: Skipped): boolean => "soft" in unavailable && unavailable.soft === true

const blocked = ({ candidate: { target }, unavailable: { detail, until } }: Skipped, now: number): PublicError =>
  Errors.make(
    "service_unavailable", `No connection that serves '${target.publicModel}' can be asked: ${detail}`,
    until === null ? {} : { retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1000)) }
  )

interface Open {
  readonly path: string
  readonly stepId: string
  readonly free: Array<Candidate>
  readonly skipped: Array<Skipped>
  refused: { readonly name: string; readonly error: PublicError } | null
}

/** Every model of the combo in its listed order. `now`: ms since the epoch. */
export const seatsOf = (route: Route, now: number): ReadonlyArray<Seat> => {
  const open = new Map<string, Open>()
  const at = (path: string, stepId: string): Open => {
    let seat = open.get(path)
    if (seat === undefined) open.set(path, seat = { path, stepId, free: [], skipped: [], refused: null })
    return seat
  }
  for (const candidate of route.order.order) at(pathOf(candidate), candidate.stepId).free.push(candidate)
  for (const skipped of route.order.skipped) at(pathOf(skipped.candidate), skipped.candidate.stepId).skipped.push(skipped)
  for (const { asked, error, executionKey, label, stepId } of route.refused()) at(executionKey, stepId).refused ??= { name: label ?? asked, error }
  const places = new Map(route.combo?.models.map(({ id }, i) => [id, i]))
  const placeOf = ({ stepId }: Open): number => places.get(stepId) ?? places.size
  return [...open.values()].sort((a, b) => placeOf(a) - placeOf(b)).map(({ free, path, refused, skipped }): Seat => {
    const soft = free.length > 0 ? [] : skipped.filter(isSoft).map(({ candidate }) => candidate)
    const candidates = free.length > 0 ? free : soft
    const [first] = skipped
    const one = candidates[0] ?? first?.candidate
    return {
      path,
      name: one === undefined ? refused?.name ?? path : nameOf(one),
      prompt: one?.prompt ?? null,
      candidates,
      lastResort: route.lastResort || soft.length > 0,
      rests: soft.length > 0 && first !== undefined ? blocked(first, now) : null,
      missing: candidates.length > 0 ? null : first === undefined ? refused?.error ?? null : blocked(first, now)
    }
  })
}

/** The panel: models that rest by our own guess are left out while `enough` others are free. */
export const panelOf = (seats: ReadonlyArray<Seat>, enough: number): ReadonlyArray<Seat> => {
  const free = seats.filter(({ missing, rests }) => missing === null && rests === null).length
  return free < enough ? seats : seats.map((seat) => seat.rests === null ? seat : { ...seat, candidates: [], lastResort: false, missing: seat.rests })
}
