/** A lab whose upstreams speak three formats: `lab` chat completions, `own` the responses format itself, `msg` messages; with the vendor's client. */
import OpenAI from "openai"
import { type Lab, startLab } from "./lab.ts"

export interface ResponsesLab {
  readonly lab: Lab
  readonly openai: OpenAI
  readonly key: string
}

/** `name`: of the key. */
export const startResponsesLab = async (name: string): Promise<ResponsesLab> => {
  const lab = await startLab()
  const { operator } = lab.gateway
  for (const [prefix, type, apiType] of [["own", "openai-compatible", "responses"], ["msg", "anthropic-compatible", undefined]] as const) {
    const { node } = await operator.call<{ node: { id: string } }>("POST", "/api/provider-nodes", {
      type, name: prefix, prefix, baseUrl: `${lab.sim.url}/v1`, ...(apiType === undefined ? {} : { apiType })
    })
    await operator.createConnection({ provider: node.id, apiKey: `canary_${prefix}` })
  }
  const { key } = await operator.createKey(name)
  return { lab, key, openai: new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key, maxRetries: 0 }) }
}
