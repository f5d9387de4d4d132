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

export interface TestPing {
  readonly type: "test.ping"
  readonly at: number
  readonly data: { readonly message: string; readonly webhookId: string }
}

export type GatewayEvent = RequestCompleted | RequestFailed | QuotaExceeded | TestPing
