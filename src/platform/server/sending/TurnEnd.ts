/**
 * Responses that are sent at the end of a turn of the event loop, after all that its sockets brought was handled. Sends that follow
 * each other closely find their reader awake: a send that wakes a sleeping thread costs the kernel several times as much.
 */

/** A response with something to send. */
export interface Sender {
  turnEnds(): void
  /** Called with what `turnEnds` throws; the others are sent all the same. */
  turnFails(error: unknown): void
}

let waiting: Array<Sender | undefined> = []
let spare: Array<Sender | undefined> = []
let count = 0

const sendAll = (): void => {
  const senders = waiting
  const length = count
  waiting = spare
  count = 0
  for (let i = 0; i < length; i++) {
    const sender = senders[i]!
    senders[i] = undefined
    try {
      sender.turnEnds()
    } catch (error) {
      sender.turnFails(error)
    }
  }
  spare = senders
}

/** Calls `turnEnds` once, in a turn of its own outside the native parser. */
export const add = (sender: Sender): void => {
  if (count === 0) setImmediate(sendAll)
  waiting[count++] = sender
}
