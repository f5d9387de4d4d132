import type { Tone } from "../../parts/Status.tsx"
import type { Run } from "./stream.ts"

/** How a stream stands. */
export const states: Readonly<Record<Run["state"], { readonly tone: Tone; readonly word: string }>> = {
  streaming: { tone: "info", word: "Streaming" }, done: { tone: "ok", word: "Done" }, stopped: { tone: "skip", word: "Stopped" }, failed: { tone: "bad", word: "Failed" }
}
