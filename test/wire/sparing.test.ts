import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import { clients } from "#src/wire/formats.ts"
import { promptOf } from "#bench/micro/translate/prompts.ts"

const faces = clients.filter((face) => face.name !== "completions")
const lists = { "chat-completions": "messages", "messages": "messages", "responses": "input", "generateContent": "contents", "local-model-server": "messages", "completions": "" }

/** The same conversation with a member that nobody knows in each item: none of them is plain then. */
const strange = (items: ReadonlyArray<object>): ReadonlyArray<object> => items.map((item) => ({ ...item, x_unknown: null }))

describe("a wrong item", () => {
  it.each(faces)("is called wrong in words, whole ones, by $name", (face) => {
    const body = promptOf(face.name, "many", 200) ?? {}
    const [item] = body[lists[face.name]] as ReadonlyArray<object>
    for (const content of [[[]], [5], [null], ["x"], { type: 5 }]) {
      const error = face.decodeRequest({ ...body, [lists[face.name]]: [{ ...item, ...(face.name === "generateContent" ? { parts: content } : { content }) }] })
      expect(error).toBeInstanceOf(PublicError)
      const { message } = error as PublicError
      expect(message).not.toMatch(/[{}]|readonly/)
      expect(message.length).toBeLessThan(200)
      if (Array.isArray(content) && face.name !== "local-model-server" && face.name !== "generateContent") expect(message).toContain("an object with a 'type'")
    }
  })
})

describe.each(faces)("a long list of $name", (face) => {
  const key = lists[face.name]
  const body = promptOf(face.name, "many", 8_000) ?? {}
  const items = body[key] as ReadonlyArray<object>

  it("is read by hand as the schema reads it", () => {
    const conversation = face.decodeRequest(body)
    expect(conversation).not.toBeInstanceOf(PublicError)
    const other = face.decodeRequest({ ...body, [key]: strange(items) })
    expect("turns" in conversation ? conversation.turns : null).toEqual("turns" in other ? other.turns : undefined)
    expect("turns" in conversation ? conversation.turns : []).toHaveLength(items.length)
  })

  it("names the wrong item by its own place", () => {
    for (const at of [0, 7, items.length - 1]) {
      const wrong = items.map((item, i) => i === at ? { ...item, content: 7, parts: 7 } : item)
      const error = face.decodeRequest({ ...body, [key]: wrong })
      expect(error).toBeInstanceOf(PublicError)
      expect(error instanceof PublicError ? error.message : "").toContain(`${key}[${at}]`)
    }
  })

  it("items that are not plain keep their place among those that are", () => {
    const kept = items.map((item, i) => i % 10 === 9 ? strange([item])[0]! : item)
    const conversation = face.decodeRequest({ ...body, [key]: kept })
    const plain = face.decodeRequest(body)
    expect("turns" in conversation ? conversation.turns : null).toEqual("turns" in plain ? plain.turns : undefined)
  })
})
