/**
 * Whether a prompt certainly does not fit a target's context window (flag DISABLE_CONTEXT_WINDOW_CHECKS turns the check off). Most requests
 * cost one comparison: a body has at most a token per eight bytes that counts here, and only a longer one is read.
 */
import type { Flags } from "#actors/ports/Flags.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Moment } from "#src/routing/models/candidate.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { CHARACTERS_PER_TOKEN } from "#src/wire/contextWindow/leastTokens.ts"
import { leastPromptTokens } from "#src/wire/contextWindow/promptTokens.ts"

const BETAS = "anthropic-beta"
/** A client of the messages format that names this beta is given a longer window by the vendor, tokens. */
const LONG_BETA = "context-1m"
const LONG_WINDOW = 1_000_000

const isLong = (betas: string | undefined): boolean => betas !== undefined && betas.includes(LONG_BETA)

const windowAt = ({ headers, wireFormat }: Target, window: number, betas: string | undefined): number =>
  wireFormat === "messages" && (isLong(betas) || isLong(headerOf(headers, BETAS))) ? Math.max(window, LONG_WINDOW) : window

/** `bytes`: of the body as it came. */
export const tokensBeyond = (
  flags: Pick<Flags["Service"], "isOn">, clientRequest: Pick<Exchange, "header">, face: FormatName, prompt: Prompt, bytes: number
): NonNullable<Moment["tokensBeyond"]> => {
  let least: number | null = null
  return (target, window) => {
    if (bytes <= window * CHARACTERS_PER_TOKEN || flags.isOn("DISABLE_CONTEXT_WINDOW_CHECKS")) return null
    // Such servers shorten a prompt that is too long by themselves.
    if (target.wireFormat === "local-model-server") return null
    const most = windowAt(target, window, clientRequest.header(BETAS))
    if (bytes <= most * CHARACTERS_PER_TOKEN) return null
    least ??= prompt.large === null ? leastPromptTokens(face, prompt.parsed) : prompt.large.leastTokens
    return least > most ? least : null
  }
}
