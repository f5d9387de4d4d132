/** Requests that run right now, folded from live events. Pure. */
import type { LiveEvent } from "./socket.ts"

export interface Running {
  readonly id: string
  readonly model: string
  readonly provider: string | null
  readonly combo: string | null
  readonly startedAt: string
  readonly tokens: number
}

/** Requests that are shown at once; a burst costs no more. */
export const MOST_RUNNING = 50

const text = (value: unknown): string | null => typeof value === "string" ? value : null

/** Requests after an event; `ended` is true when one of them settled, and its rows can be read. */
export const after = (running: ReadonlyMap<string, Running>, { data, event }: LiveEvent): { readonly running: ReadonlyMap<string, Running>; readonly ended: boolean } => {
  const id = text(data["id"])
  if (id === null) return { running, ended: false }
  const known = running.get(id)
  switch (event) {
    case "request.started": {
      if (known !== undefined || running.size >= MOST_RUNNING) return { running, ended: false }
      const started: Running = {
        id, model: text(data["model"]) ?? "", provider: text(data["provider"]), combo: text(data["comboName"]), startedAt: text(data["timestamp"]) ?? new Date().toISOString(), tokens: 0
      }
      return { running: new Map([...running, [id, started]]), ended: false }
    }
    case "request.streaming":
      return known === undefined ? { running, ended: false } : { running: new Map([...running, [id, { ...known, tokens: Number(data["tokensGenerated"]) || 0 }]]), ended: false }
    case "request.completed":
    case "request.failed": {
      if (known === undefined) return { running, ended: true }
      const rest = new Map(running)
      rest.delete(id)
      return { running: rest, ended: true }
    }
    default:
      return { running, ended: false }
  }
}
