/** Hears what the compression of a request's prompt saved. Nothing waits for it. */
import * as Context from "effect/Context"
import type { Savings } from "#src/compression/compress.ts"
import type { Mode } from "#schemas/words/Compression.ts"

export class CompressionSavings extends Context.Service<CompressionSavings, {
  /** `comboId`: null for a request without a combo. Called once per request whose prompt was compressed, when it is known. */
  readonly note: (mode: Mode, comboId: string | null, savings: Savings) => void
}>()("gateway/ports/CompressionSavings") {}
