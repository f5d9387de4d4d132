/** Skills: code of the operator's that runs in a sandbox. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { SkillsGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Executions from "./Executions.ts"
import * as Http from "./http.ts"
import version53 from "./migrations/0053_skills.ts"
import * as SkillMarkets from "./SkillMarkets.ts"
import * as PostgresSkillExecutionStore from "./stores/PostgresSkillExecutionStore.ts"
import * as PostgresSkillStore from "./stores/PostgresSkillStore.ts"

export const skills = Feature.make({
  name: "skills",
  groups: [SkillsGroup],
  handlers: Http.layer,
  services: (settings) => Layer.merge(Executions.layer({ isOn: settings.skills, timeoutMs: settings.skillsTimeoutMs }), SkillMarkets.layerOf(settings)),
  stores: (options) => Layer.merge(PostgresSkillStore.layer(options), PostgresSkillExecutionStore.layer(options)),
  migrations: { "53_skills": version53 },
  acting: [Acting.skill],
  degradation
})
