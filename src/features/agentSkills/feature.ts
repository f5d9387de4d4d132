/** Pages about this gateway for coding agents. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { AgentSkillsGroup } from "./api.ts"
import * as Http from "./http.ts"

export const agentSkills = Feature.make({ name: "agentSkills", groups: [AgentSkillsGroup], handlers: Http.layer, acting: [Acting.agentSkill] })
