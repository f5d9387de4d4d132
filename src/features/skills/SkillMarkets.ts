/** The marketplaces of skills, and the one that the setting `skillsProvider` names. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import * as Market from "#src/management/markets/Market.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { type MarketName, marketNames } from "./ports/Skill.ts"

export class SkillMarkets extends Context.Service<SkillMarkets, {
  readonly of: (name: MarketName) => Market.Market
  /** What the setting says; skillsmp while it says nothing. */
  readonly chosen: () => MarketName
  /** Null while the chosen one has no address. */
  readonly provider: () => MarketName | null
}>()("gateway/skills/SkillMarkets") {}

export type Addresses = Pick<Values, "skillsmpUrl" | "skillsshUrl">

const make = Effect.fnUntraced(function*({ skillsmpUrl, skillsshUrl }: Addresses) {
  const configuration = yield* Configuration
  const markets = {
    skillsmp: yield* Market.make({ title: "The marketplace skillsmp", address: skillsmpUrl, variable: "GATEWAY_SKILLSMP_URL", kind: "skills" }),
    skillssh: yield* Market.make({ title: "The marketplace skillssh", address: skillsshUrl, variable: "GATEWAY_SKILLSSH_URL", kind: "skills" })
  }
  const addresses = { skillsmp: skillsmpUrl, skillssh: skillsshUrl }
  const chosen = (): MarketName => {
    const stored = configuration.current().settings.get("skillsProvider")
    return marketNames.find((name) => name === stored) ?? "skillsmp"
  }
  return SkillMarkets.of({ of: (name) => markets[name], chosen, provider: () => addresses[chosen()] === null ? null : chosen() })
})

export const layerOf = (addresses: Addresses) => Layer.effect(SkillMarkets, make(addresses))
