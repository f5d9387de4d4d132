/** The vendor's own client of files, towards the gateway. */
import { randomBytes } from "node:crypto"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"

let gateway: InProcess
let openai: OpenAI
let stranger: OpenAI
const clientOf = async (name: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: (await gateway.operator.createKey(name)).key, maxRetries: 0 })

beforeAll(async () => {
  gateway = await inProcess()
  openai = await clientOf("files")
  stranger = await clientOf("stranger")
})
afterAll(() => gateway.close())

describe("the vendor's client of files", () => {
  it("creates, retrieves, lists, reads and deletes", async () => {
    const lines = Array.from({ length: 2_000 }, (_, i) => JSON.stringify({ custom_id: `r${i}`, method: "POST", url: "/v1/chat/completions", body: { model: "m", input: "ä😀" } })).join("\n")
    const made = await openai.files.create({ file: await toFile(Buffer.from(lines), "Läufe 1.jsonl"), purpose: "batch", expires_after: { anchor: "created_at", seconds: 7_200 } })
    expect(made).toMatchObject({ object: "file", bytes: Buffer.byteLength(lines), filename: "Läufe 1.jsonl", purpose: "batch", status: "processed" })
    expect(Number(made.expires_at) - made.created_at).toBe(7_200)
    expect(await openai.files.retrieve(made.id)).toEqual(made)
    expect(await openai.files.waitForProcessing(made.id)).toEqual(made)
    const content = await openai.files.content(made.id)
    expect(await content.text()).toBe(lines)
    expect(await openai.files.delete(made.id)).toEqual({ id: made.id, object: "file", deleted: true })
    await expect(openai.files.retrieve(made.id)).rejects.toMatchObject({ status: 404, type: "invalid_request_error", code: "file_not_found" })
  })

  it("walks over all pages by itself", async () => {
    const made: Array<string> = []
    for (let i = 0; i < 7; i++) made.push((await openai.files.create({ file: await toFile(randomBytes(10), `${i}`), purpose: i % 2 === 0 ? "vision" : "user_data" })).id)
    const seen: Array<string> = []
    for await (const file of openai.files.list({ limit: 2 })) seen.push(file.id)
    expect(seen).toEqual(made.toReversed())
    const ascending: Array<string> = []
    for await (const file of openai.files.list({ limit: 3, order: "asc", purpose: "vision" })) ascending.push(file.id)
    expect(ascending).toEqual([made[0], made[2], made[4], made[6]])
    for (const id of made) await openai.files.delete(id)
  })

  it("gets typed errors", async () => {
    const made = await openai.files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "evals" })
    await expect(stranger.files.content(made.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(stranger.files.delete(made.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(openai.files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "p".repeat(80) as "batch" })).rejects.toMatchObject({ status: 400, param: "purpose" })
    const anonymous = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "sk-nobody", maxRetries: 0 })
    await expect(anonymous.files.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await openai.files.delete(made.id)
  })
})
