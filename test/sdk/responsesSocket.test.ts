/** The vendor's own WebSocket client of the responses format, towards the gateway. */
import OpenAI from "openai"
import { ResponsesWS } from "openai/resources/responses/ws"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let openai: OpenAI
beforeAll(async () => {
  lab = await startLab()
  openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("socket")).key, maxRetries: 0 })
})
afterAll(() => lab.close())

type Event = OpenAI.Responses.ResponsesServerEvent

/** Events up to the end of one response. */
const answer = (ws: ResponsesWS, request: object): Promise<ReadonlyArray<Event>> => new Promise((resolve, reject) => {
  const seen: Array<Event> = []
  const hear = (event: Event): void => {
    seen.push(event)
    if (event.type !== "response.completed" && event.type !== "response.failed") return
    ws.off("event", hear)
    resolve(seen)
  }
  ws.on("event", hear)
  ws.on("error", reject)
  ws.send({ type: "response.create", ...request } as never)
})

describe("the vendor's WebSocket client", () => {
  it("asks, continues and reads failures", async () => {
    const ws = new ResponsesWS(openai)
    const first = await answer(ws, { model: "lab/sdk-socket", input: "one" })
    const completed = first.at(-1) as Extract<Event, { type: "response.completed" }>
    expect([first[0]?.type, completed.type, completed.response.status]).toEqual(["response.created", "response.completed", "completed"])
    const second = await answer(ws, { model: "lab/sdk-socket", input: "two", previous_response_id: completed.response.id })
    expect(second.at(-1)?.type).toBe("response.completed")
    expect(JSON.stringify((await lab.sim.entries({ model: "sdk-socket" })).at(-1)?.body)).toContain("\"one\"")
    const failed = (await answer(ws, { model: "nowhere/none", input: "x" })).at(-1) as Extract<Event, { type: "response.failed" }>
    expect([failed.type, failed.response.error?.code]).toEqual(["response.failed", "model_not_found"])
    ws.close()
  })
})
