/** Pages about this gateway for coding agents. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { AgentSkillsGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as ManagedAgentSkills from "./ManagedAgentSkills.ts"

export const agentSkills = Feature.make({
  name: "agentSkills", groups: [AgentSkillsGroup], handlers: Layer.provide(Http.layer, ManagedAgentSkills.layer), acting: [Acting.agentSkill]
})
