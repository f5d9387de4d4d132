/**
 * The leader of a group of equal requests: it sits between the request and its client, reports how the request ended, and keeps
 * it running without its client for as long as its listener wants.
 */
import type { Client } from "#actors/request/Inbound.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { TokenUsage } from "#schemas/wire/conversation.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { AdmittedCall } from "./Stages.ts"

/** What the wire calls of the request came to. */
export interface Spent {
  /** Of the wire call that answered. */
  readonly usage: TokenUsage
  /** USD of all of them. */
  readonly costUsd: number
  /** The client was answered in full. */
  readonly completed: boolean
}

/** Gets exactly one call of `answered`, `streamed` and `failed`. */
export interface CoalescedCallListener {
  /** A whole response went out, whatever its status. */
  readonly answered: (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string, spent: Spent) => void
  /** A stream was completed; its bytes went through `chunk`. */
  readonly streamed: (headers: ReadonlyArray<string>, spent: Spent) => void
  /** Borrowed body bytes of a stream, before `streamed`: valid until it returns. */
  readonly chunk: (bytes: Uint8Array) => void
  /** It was refused, cut, or ended without an answer. */
  readonly failed: () => void
  /** The client has left: whether the request continues without it. `end` ends it later. */
  readonly keeps: (end: () => void) => boolean
}

const nothingSpent: Spent = { usage: { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }, costUsd: 0, completed: false }

export class CoalescedCall implements Client, Interceptor {
  /** Not the whole call: this lives as long as a stream, and its body need not. */
  private readonly call: Pick<AdmittedCall, "client" | "passage" | "onLeft">
  private readonly listener: CoalescedCallListener
  private spent = nothingSpent
  private heads: ReadonlyArray<string> = []
  private over = false
  private gone = false
  private drained: (() => void) | null = null

  private constructor({ client, onLeft, passage }: AdmittedCall, listener: CoalescedCallListener) {
    this.call = { client, onLeft, passage }
    this.listener = listener
  }

  /** The call to continue with. */
  static of(call: AdmittedCall, listener: CoalescedCallListener): AdmittedCall {
    return new CoalescedCall(call, listener).passed(call)
  }

  private passed(call: AdmittedCall): AdmittedCall {
    return {
      ...call,
      client: this,
      interceptors: [...call.interceptors, this],
      passage: {
        refuse: (error, since) => this.refuse(error, since),
        // The request has not begun: no other code will report its end.
        onGone: (listener) => call.passage.onGone(() => this.left(() => {
          listener()
          this.closed()
        }))
      },
      onLeft: (leave) => this.left(leave)
    }
  }

  // ---- the client ------------------------------------------------------------------------------------------------------------------

  readonly start = (status: number, headers: ReadonlyArray<string>): void => {
    this.heads = headers
    if (!this.gone) this.call.client.start(status, headers)
  }

  readonly relay = (chunk: Uint8Array): boolean => {
    this.listener.chunk(chunk)
    return this.gone || this.call.client.relay(chunk)
  }

  readonly onDrain = (listener: () => void): void => {
    if (this.gone) listener()
    else {
      this.drained = listener
      this.call.client.onDrain(listener)
    }
  }

  readonly end = (chunk?: Uint8Array | string): void => {
    if (chunk !== undefined) this.listener.chunk(typeof chunk === "string" ? Buffer.from(chunk) : chunk)
    if (!this.gone) this.call.client.end(chunk)
    if (this.spent.completed) this.settle(() => this.listener.streamed(this.heads, this.spent))
    else this.closed()
  }

  readonly respond = (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string): void => {
    if (!this.gone) this.call.client.respond(status, headers, body)
    this.settle(() => this.listener.answered(status, headers, body, this.spent))
  }

  readonly close = (): void => {
    if (!this.gone) this.call.client.close()
    this.closed()
  }

  // ---- the interceptor
  // ---------------------------------------------------------------------------------------------------------------

  readonly beforeAttempt = (): null => null

  readonly attemptSettled = (row: LedgerRow): void => {
    const { completed, costUsd, usage } = this.spent
    const answers = row.final && row.outcome === "completed"
    this.spent = {
      usage: answers
        ? { input: row.tokensIn, output: row.tokensOut, cacheRead: row.tokensCacheRead, cacheCreation: row.tokensCacheCreation, reasoning: row.tokensReasoning }
        : usage,
      costUsd: costUsd + row.costUsd,
      completed: completed || answers
    }
  }

  /** The request is over; without an answer so far there will be none. */
  readonly closed = (): void => this.settle(this.listener.failed)

  // ----------------------------------------------------------------------------------------------------------------------------------

  private refuse(error: PublicError, since?: number): void {
    this.call.passage.refuse(error, since)
    this.closed()
  }

  /** The client has gone. `leave` is what would have ended the request. */
  private left(leave: () => void): void {
    this.gone = true
    const end = (): void => {
      const { onLeft } = this.call
      if (onLeft === undefined) leave()
      else onLeft(leave)
    }
    if (this.over || !this.listener.keeps(end)) end()
    // The client will not drain any more, and the upstream must not wait for it.
    else this.drained?.()
  }

  private settle(tell: () => void): void {
    if (this.over) return
    this.over = true
    tell()
  }
}
