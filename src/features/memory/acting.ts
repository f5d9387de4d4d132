/** Which settings of memory act. */
import { actIn, actsIn, lacks, type Row } from "#schemas/acting/row.ts"
import type { MemorySettings } from "#schemas/memory/MemorySettings.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

const rows: Readonly<Record<keyof MemorySettings | "vectorStore", Row>> = {
  ...actIn("src/features/memory/KeyMemories.ts", "memoryEnabled"),
  ...actIn("src/features/memory/ranking/Remembered.ts", "memoryMaxTokens", "memoryRetentionDays", "memoryStrategy"),
  embeddingSource: actsIn("src/features/memory/vectors/MemoryVectors.ts"),
  ...actIn("src/features/memory/models/MemoryReranker.ts", "rerankEnabled", "rerankModel"),
  vectorStore: lacks("memory", "auto")
}

/** What the fields that do not act are read as. */
export const neutral = { vectorStore: "auto" } as const

export const memory = ActingTable.make("Memory setting", rows, "PUT /api/settings/memory")
