/** The queues of waiters, as far as places know of them. */
export interface Lines {
  /** Waiters in all lines. */
  readonly size: number
  readonly sizeOf: (line: string) => number
  /** Something of this line may be free; null = of every line. */
  readonly freed: (line: string | null) => void
}
