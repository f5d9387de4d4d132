/** The vendor clears older results of tools from a conversation that grew long, where its body asks for it. */
import { capabilitiesOf } from "#src/wire/messages/claude.ts"

/** The vendor's own name of it, in the header anthropic-beta. */
export const beta = "context-management-2025-06-27"
export const field = "context_management"
/** From when on, and how many results stay, is the vendor's default. */
export const edits = { edits: [{ type: "clear_tool_uses_20250919" }] } as const

/** Only of the vendor's own models it is known that they can. */
export const isKnown = (model: string): boolean => capabilitiesOf(model).clears
