/** The versions of the protocol that the engine speaks, newest first; stated here because the engine is loaded with its first frame. */
export const protocolVersions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const
