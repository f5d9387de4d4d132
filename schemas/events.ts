/** The events that the gateway sends to webhooks. Receivers must tolerate added fields. */

export interface RequestCompleted {
  readonly type: "request.completed"
  /** ms since the epoch. */
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

export interface RequestFailed {
  readonly type: "request.failed"
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
}

/** Emitted once per key, limit and window. */
export interface QuotaExceeded {
  readonly type: "quota.exceeded"
  readonly at: number
  readonly data: {
    readonly api_key_id: string
    readonly quota: "budget" | "daily_usd" | "weekly_usd" | "token_limit" | "rate_limit"
    /** What the limit is about: `global`, `model:<id>`, `provider:<id>`, a period. */
    readonly scope: string
    readonly used: number
    readonly limit: number
    /** used / limit x 100. */
    readonly pct: number
    /** ISO time; null when the window does not end by itself. */
    readonly resets_at: string | null
  }
}

/** A batch is over; emitted once per batch. */
export interface BatchEnded {
  readonly type: `batch.${"completed" | "failed" | "expired" | "cancelled"}`
  readonly at: number
  readonly data: {
    /** Of the batch. */
    readonly id: string
    /** Empty: an operator's. */
    readonly api_key_id: string
    readonly endpoint: string
    /** Empty where its lines name several models. */
    readonly model: string
    readonly requests_total: number
    readonly requests_completed: number
    readonly requests_failed: number
    readonly input_file_id: string
    readonly output_file_id: string | null
    readonly error_file_id: string | null
    /** What is wrong with its input; null: nothing. */
    readonly error_message: string | null
  }
}

export interface TestPing {
  readonly type: "test.ping"
  readonly at: number
  readonly data: { readonly message: string; readonly webhookId: string }
}

export type GatewayEvent = RequestCompleted | RequestFailed | QuotaExceeded | BatchEnded | TestPing
