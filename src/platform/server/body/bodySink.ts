/** Bodies that are taken while they arrive. */
import type { BodyFailure } from "#src/platform/server/Exchange.ts"

/** Takes a body while it arrives. One of `end` and `fail` is the last call, and neither comes after `stop`. */
export interface BodySink {
  /** Borrowed bytes: copy them to keep them. False: as many as can be taken now; read on with `resume`. */
  readonly push: (bytes: Uint8Array) => boolean
  /** Asked before a body that waited for others is read on; false as from `push`. */
  readonly isReady: () => boolean
  readonly end: () => void
  readonly fail: (failure: BodyFailure) => void
}

/** A body on its way to a sink. */
export interface BodyFlow {
  readonly resume: () => void
  /** Nothing more is given to the sink. */
  readonly stop: () => void
  /** Runs what follows from the body in a later turn as the sink's methods are run: what it throws ends the exchange, not the process. */
  readonly guard: (run: () => void) => void
}

/** Runs it as it is. */
export const unguarded = (run: () => void): void => run()

/** A flow that is over. */
export const stopped: BodyFlow = { resume: () => undefined, stop: () => undefined, guard: unguarded }

/** Bytes that are given to a sink at a time. */
const pieceBytes = 256 * 1024

/** Gives a sink a body that is here already, piece by piece, as fast as the sink takes it. */
export const pour = (body: Uint8Array, sink: BodySink): BodyFlow => {
  let at = 0
  let isStopped = false
  let isRunning = false
  const run = (): void => {
    // A sink may ask for more while it is given something.
    if (isRunning) return
    isRunning = true
    let takes = true
    while (takes && at < body.byteLength && !isStopped) {
      const piece = body.subarray(at, at + pieceBytes)
      at += piece.byteLength
      takes = sink.push(piece)
    }
    isRunning = false
    if (at < body.byteLength || isStopped) return
    isStopped = true
    sink.end()
  }
  run()
  return {
    resume: run,
    stop: () => {
      isStopped = true
    },
    guard: unguarded
  }
}

/** The same sink, of which each call runs in `guard`. */
export const guardedSink = (sink: BodySink, guard: (run: () => void) => void): BodySink => ({
  push: (bytes) => {
    let takes = true
    guard(() => {
      takes = sink.push(bytes)
    })
    return takes
  },
  isReady: () => sink.isReady(),
  end: () => guard(() => sink.end()),
  fail: (failure) => guard(() => sink.fail(failure))
})

/** Gives a sink a body that can only be read whole. */
export const pourWhole = (read: (done: (body: Uint8Array | null, failure: BodyFailure | null) => void) => void, sink: BodySink): BodyFlow => {
  let flow: BodyFlow = stopped
  let isStopped = false
  read((body, failure) => {
    if (isStopped) return
    if (body === null) sink.fail(failure ?? "aborted")
    else flow = pour(body, sink)
  })
  return {
    resume: () => flow.resume(),
    stop: () => {
      isStopped = true
      flow.stop()
    },
    guard: unguarded
  }
}
