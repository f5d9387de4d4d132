/**
 * Whether a prompt certainly does not fit a target's context window (flag DISABLE_CONTEXT_WINDOW_CHECKS turns the check off). Most requests
 * cost one comparison: a body has at most a token per eight bytes that counts here, and only a longer one is read.
 */
import type { Flags } from "#actors/ports/Flags.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Mode } from "#schemas/words/Compression.ts"
import * as Effective from "#src/compression/effective.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import type { ConversationCall } from "#src/inference/lane/stages/Stages.ts"
import type { RequestLength } from "#src/routing/contextWindow.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import type { ConversationServices } from "./ConversationServices.ts"
import { CHARACTERS_PER_TOKEN } from "#src/wire/contextWindow/leastTokens.ts"
import { leastPromptTokens } from "#src/wire/contextWindow/promptTokens.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

const BETAS = "anthropic-beta"
/** A client of the messages format that names this beta is given a longer window by the vendor, tokens. */
const LONG_BETA = "context-1m"
const LONG_WINDOW = 1_000_000

const isLong = (betas: string | undefined): boolean => betas !== undefined && betas.includes(LONG_BETA)

const windowAt = ({ headers, wireFormat }: Target, window: number, betas: string | undefined): number =>
  wireFormat === "messages" && (isLong(betas) || isLong(headerOf(headers, BETAS))) ? Math.max(window, LONG_WINDOW) : window

/**
 * What the length of a conversation is asked of; a class, because each request has one and most are never measured. Over the prompt,
 * which is released at the commit point: a route lives as long as its stream.
 */
export class ConversationLength implements RequestLength {
  private readonly services: Pick<ConversationServices, "compression" | "handoffs"> & { readonly admission: { readonly flags: Pick<Flags["Service"], "isOn"> } }
  private readonly clientRequest: Pick<Exchange, "header">
  private readonly codec: ClientCodec
  private readonly key: ApiKey | null
  private readonly prompt: Prompt
  private least: number | null = null

  constructor(services: ConversationLength["services"], clientRequest: Pick<Exchange, "header">, { codec, key }: Pick<ConversationCall, "codec" | "key">, prompt: Prompt) {
    this.services = services
    this.clientRequest = clientRequest
    this.codec = codec
    this.key = key
    this.prompt = prompt
  }

  beyond(target: Target, window: number): number | null {
    const { codec, prompt, services } = this
    if (prompt.bytes <= window * CHARACTERS_PER_TOKEN || services.admission.flags.isOn("DISABLE_CONTEXT_WINDOW_CHECKS")) return null
    // Such servers shorten a prompt that is too long by themselves.
    if (target.wireFormat === "local-model-server") return null
    const most = windowAt(target, window, this.clientRequest.header(BETAS))
    if (prompt.bytes <= most * CHARACTERS_PER_TOKEN) return null
    this.least ??= prompt.large === null ? leastPromptTokens(codec.name, prompt.parsed) : prompt.large.leastTokens
    return this.least > most ? this.least : null
  }

  mayShrink(): boolean {
    return this.isCompressed(null, null)
  }

  mayShrinkIn(combo: Combo, mode: Mode | null): boolean {
    return this.isCompressed(combo.id, mode)
  }

  private isCompressed(comboId: string | null, comboMode: Mode | null): boolean {
    const { clientRequest, key, prompt, services } = this
    const rules = services.compression()
    return rules !== null && Effective.of(rules, Effective.askedBy(clientRequest, key, prompt.bytes, comboId, comboMode)).plan !== null
  }

  mayBeShortened(combo: Combo, target: Target): boolean {
    const { clientRequest, key, services } = this
    return services.handoffs.mayShorten(combo, target, key, Lane.sessionOf(clientRequest))
  }
}
