/** The tokenizer's thread: loads o200k once, then answers one count at a time. */
import { workerData } from "node:worker_threads"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import * as BoundedCount from "#src/platform/accounting/boundedCount.ts"
import * as TokenizerProtocol from "./tokenizerProtocol.ts"

// The first count compiles the split pattern: before the first question, not under it.
for (let i = 0; i < 20; i++) countTokens(`Warm-up ${i}: the quick brown fox, 123 times; naïve 日本語 text.\n`)

TokenizerProtocol.serve(workerData as TokenizerProtocol.TokenizerChannel, (text) => BoundedCount.count(text, (piece) => countTokens(piece, BoundedCount.asText)))
