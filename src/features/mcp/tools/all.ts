/** Every tool, in the order of their phases. */
import { agentSkills } from "./agentSkills.ts"
import { changing } from "./changing.ts"
import { compressing } from "./compressing.ts"
import { databaseHealth } from "./databaseHealth.ts"
import { reading } from "./reading.ts"
import { remembering } from "./remembering.ts"
import { searching } from "./searching.ts"
import { skills } from "./skills.ts"
import type { Tool } from "./Tool.ts"

export const tools: ReadonlyArray<Tool> = [...reading, ...searching, ...changing, ...compressing, ...remembering, ...skills, ...agentSkills, databaseHealth].sort((a, b) => a.phase - b.phase)

/** Tools that remove what no other tool brings back. */
export const destructive: ReadonlySet<string> = new Set(["gateway_cache_flush", "gateway_memory_clear"])

/** Tools that call models or read lists: they tell their progress each second. */
export const slow: ReadonlySet<string> = new Set(["gateway_route_request", "gateway_sync_pricing", "gateway_test_combo", "gateway_web_search"])
