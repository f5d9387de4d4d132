/** Tools that no client may offer to a model: noted or refused. */
import * as Feature from "#src/management/Feature.ts"

export const toolPolicy = Feature.make({ name: "toolPolicy" })
