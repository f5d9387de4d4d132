/** Of which kind a task is: by words of seven languages, pictures, tools and length, in every format of conversations. */
import { describe, expect, it as plainIt } from "vitest"
import { it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Arbitrary from "effect/Arbitrary"
import { tasks } from "#schemas/words/TaskRouting.ts"
import * as Detect from "#src/routing/tasks/detect.ts"
import * as Reading from "#src/routing/tasks/reading.ts"

const options: Detect.DetectorOptions = { codeWords: [], reasoningWords: [], simpleWords: [], simpleMaxWords: 30, backgroundPhrases: [] }
const detector = Detect.make(options)
const chat = (content: unknown, more: Readonly<Record<string, unknown>> = {}) => Reading.read({ messages: [{ role: "user", content }], ...more })
const taskOf = (text: string, more: Readonly<Record<string, unknown>> = {}) => detector.task(chat(text, more)).task

describe("the task of a text", () => {
  plainIt.each([
    ["Fix the bug in this function, please", "coding"],
    ["Schreib mir ein Skript, das diese Funktion aufruft", "coding"],
    ["Escribe una función que ordene una lista", "coding"],
    ["Écris une fonction qui trie une liste", "coding"],
    ["Scrivi una funzione che ordina una lista", "coding"],
    ["Escreva uma função que ordene uma lista", "coding"],
    ["写一个排序的函数", "coding"],
    ["What does this do?\n```\nx += 1\n```", "coding"],
    ["const total = items.reduce((a, b) => a + b)", "coding"],
    ["Why does main.rs not work?", "coding"],
    ["Summarize the article below", "summarization"],
    ["Fasse zusammen, was hier steht", "summarization"],
    ["Haz un resumen del artículo", "summarization"],
    ["Fais un résumé de l'article", "summarization"],
    ["Fammi un riassunto dell'articolo", "summarization"],
    ["Faça um resumo do artigo", "summarization"],
    ["请总结这篇文章", "summarization"],
    ["Write a story about a dragon", "creative"],
    ["Schreib ein Gedicht über den Herbst", "creative"],
    ["Escribe un poema sobre el mar", "creative"],
    ["Écris un poème sur la mer", "creative"],
    ["Scrivi una poesia sul mare", "creative"],
    ["Escreva um poema sobre o mar", "creative"],
    ["写一首关于秋天的诗", "creative"],
    ["Compare the pros and cons of both offers", "analysis"],
    ["Vergleiche die beiden Angebote", "analysis"],
    ["Analiza las dos ofertas", "analysis"],
    ["Compare les avantages et inconvénients", "analysis"],
    ["Analizza le due offerte", "analysis"],
    ["Analise as duas ofertas", "analysis"],
    ["分析这两个方案的优缺点", "analysis"],
    ["How are you today?", "chat"],
    ["Wie geht es dir?", "chat"],
    ["你好吗", "chat"]
  ])("%s: %s", (text, task) => {
    expect(taskOf(text)).toBe(task)
  })

  plainIt("is what is said first where two are named as often", () => {
    expect([taskOf("Write a story about a debugger"), taskOf("Debug the story generator")]).toEqual(["creative", "coding"])
  })

  plainIt("counts whole words only, and composed letters like others", () => {
    expect([taskOf("The decoder ring is encoded"), taskOf("Un re\u0301sume\u0301 bref"), taskOf("RÉSUMÉ")]).toEqual(["chat", "summarization", "summarization"])
  })

  plainIt("is told by pictures, then words, then tools, then length", () => {
    const picture = [{ type: "text", text: "Summarize this" }, { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]
    const agent = { tools: [{ name: "Bash" }, { type: "function", function: { name: "apply_patch" } }] }
    const long = "lorem ipsum ".repeat(1_100)
    expect([detector.task(chat(picture)), detector.task(chat("go on", agent)), detector.task(chat("Summarize it", agent)), detector.task(chat("go on", { tools: [{ name: "Bash" }] })), detector.task(chat(long))]).toEqual([
      { task: "vision", source: "images" }, { task: "coding", source: "tools" }, { task: "summarization", source: "words" }, { task: "chat", source: "default" },
      { task: "analysis", source: "length" }
    ])
  })

  plainIt("knows an operator's words, which are searched as they stand", () => {
    const own = Detect.make({ ...options, codeWords: ["flux.*", "电路"], reasoningWords: ["wägen"] })
    expect(["the flux.* thing", "the fluxes thing", "请看这个电路图", "Wägen wir es ab"].map((text) => own.task(chat(text)).task)).toEqual(["coding", "chat", "coding", "analysis"])
  })
})

describe("a request in the background", () => {
  const reasonOf = (text: string, more: Readonly<Record<string, unknown>> = {}) => detector.background(chat(text, more), false)
  plainIt.each([
    ["Generate a concise, 3-5 word title with an emoji for the chat", "title"],
    ["Please write a 5-10 word title for the following conversation:", "title"],
    ["Erstelle einen kurzen Titel für diese Unterhaltung", "title"],
    ["Genera un título breve para esta conversación", "title"],
    ["Génère un titre court pour cette conversation", "title"],
    ["Gere um título curto para esta conversa", "title"],
    ["为这个对话生成一个标题", "title"],
    ["Suggest 3-5 relevant follow-up questions", "suggestions"],
    ["Create a detailed summary of the conversation so far", "summary"],
    ["Fasse die Unterhaltung bisher zusammen", "summary"],
    ["Generate a title for my blog post", null],
    ["Summarize the book", null],
    ["How do I name a chat room?", null]
  ])("%s: %s", (text, reason) => {
    expect(reasonOf(text)).toBe(reason)
  })

  plainIt("is known by its instructions, and never beside tools", () => {
    const instructions = { system: "You are a title generator. You output ONLY a thread title." }
    expect([reasonOf("fix it", instructions), reasonOf("fix it", { ...instructions, tools: [{ name: "Bash" }] })]).toEqual(["title", null])
  })

  plainIt("is a probe where hardly an answer is wanted to a few words", () => {
    expect([
      reasonOf("quota", { max_tokens: 1 }), reasonOf("quota", { max_tokens: 6 }), reasonOf("q".repeat(65), { max_tokens: 1 }), reasonOf("quota", { max_tokens: 1, tools: [{ name: "t" }] })
    ]).toEqual(["token_probe", null, null, null])
  })

  plainIt("is what an operator's phrase says, beside tools, too", () => {
    const own = Detect.make({ ...options, backgroundPhrases: ["Nightly Digest"] })
    expect([own.background(chat("the nightly digest, please", { tools: [{ name: "t" }] }), false), own.background(chat("hi"), false), own.background(chat("hi"), true)]).toEqual(["pattern", null, "header"])
  })
})

describe("the intent of a text", () => {
  plainIt.each([
    ["Fix the bug", "code"], ["Prove that the square root of two is irrational", "reasoning"], ["What is the capital of France?", "simple"],
    [`Tell me about ${"many things and ".repeat(12)}more`, "general"]
  ])("%s: %s", (text, intent) => {
    expect(detector.intent(chat(text))).toBe(intent)
  })

  plainIt("counts words up to the operator's number, and takes the operator's words first", () => {
    const few = Detect.make({ ...options, simpleMaxWords: 3, simpleWords: ["faq"] })
    expect(["one two three", "one two three four", "the faq about the bug in the parser", "一二三四五六", "一二三四五六七"].map((text) => few.intent(chat(text)))).toEqual(["simple", "general", "simple", "simple", "general"])
  })
})

const opt = Schema.optionalKey(Schema.Json)
const picture = { base64: "AAAA" }
/** The same words of a person, after a tool call and a note of the agent, in each format. */
const formats: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]> = [
  ["chat completions", {
    max_tokens: 9, tools: [{ type: "function", function: { name: "look" } }],
    messages: [
      { role: "system", content: "Be brief." }, { role: "user", content: [{ type: "text", text: "Look at it" }, { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
      { role: "assistant", tool_calls: [{ id: "1" }] }, { role: "tool", tool_call_id: "1", content: "Summarize the code" }, { role: "user", content: "a reminder" }
    ]
  }],
  ["messages", {
    max_tokens: 9, system: [{ type: "text", text: "Be brief." }], tools: [{ name: "look" }],
    messages: [
      { role: "user", content: [{ type: "text", text: "<system-reminder>code</system-reminder>" }, { type: "text", text: "Look at it" }, { type: "image", source: picture }] },
      { role: "assistant", content: [{ type: "tool_use", id: "1" }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "code" }, { type: "text", text: "a reminder" }] }
    ]
  }],
  ["responses", {
    max_output_tokens: 9, instructions: "Be brief.", tools: [{ type: "function", name: "look" }],
    input: [
      { role: "user", content: [{ type: "input_text", text: "Look at it" }, { type: "input_image", image_url: "data:image/png;base64,AAAA" }] },
      { type: "function_call", call_id: "1" }, { type: "function_call_output", call_id: "1", output: "code" }
    ]
  }],
  ["generateContent", {
    generationConfig: { maxOutputTokens: 9 }, systemInstruction: { parts: [{ text: "Be brief." }] }, tools: [{ functionDeclarations: [{ name: "look" }] }],
    contents: [
      { role: "user", parts: [{ text: "Look at it" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] }, { role: "model", parts: [{ functionCall: {} }] },
      { role: "user", parts: [{ functionResponse: { name: "look", response: { text: "code" } } }] }
    ]
  }],
  ["the local model server", {
    system: "Be brief.", options: { num_predict: 9 }, tools: [{ type: "function", function: { name: "look" } }],
    messages: [{ role: "user", content: "Look at it", images: ["AAAA"] }, { role: "assistant", tool_calls: [{}] }, { role: "tool", content: "code" }]
  }]
]

describe("what a request says of its task", () => {
  plainIt.each(formats)("is the same in %s", (_name, body) => {
    expect({ ...Reading.read(body), instructions: Reading.read(body).instructions.trim() }).toEqual({
      text: "Look at it", length: 10, images: true, instructions: "Be brief.", tools: ["look"], maxTokens: 9
    })
  })

  plainIt("is a bare prompt, too", () => {
    expect([Reading.read({ prompt: "code" }).text, Reading.read({ prompt: ["a", "b"] }).text, Reading.read({ input: "said" }).text]).toEqual(["code", "a", "said"])
  })

  plainIt("is the beginning and the end of a long text", () => {
    const said = chat(`begin ${"x".repeat(100_000)} end`)
    expect([said.length, said.text.length, said.text.startsWith("begin x"), said.text.endsWith("x end")]).toEqual([100_010, Reading.BEGINNING + 1 + Reading.END, true, true])
  })

  plainIt("is bounded over many long parts, too", () => {
    const said = chat(["a", "b", "c"].map((letter) => ({ type: "text", text: letter.repeat(5_000) })))
    expect([said.length, said.text.length, said.text.slice(4_999, 5_002), said.text.endsWith("c".repeat(Reading.END))]).toEqual([15_000, Reading.BEGINNING + 1 + Reading.END, "a\nb", true])
  })

  it.prop("is bounded for any body, and any body has a task and an intent", { body: Arbitrary.schema(Schema.Struct({ messages: opt, input: opt, contents: opt, prompt: opt, system: opt, tools: opt, max_tokens: opt })) }, ({ body }) => {
    const said = Reading.read(body)
    expect(said.text.length).toBeLessThanOrEqual(Reading.BEGINNING + 1 + Reading.END)
    expect(said.instructions.length).toBeLessThanOrEqual(Reading.INSTRUCTIONS)
    expect(said.tools.length).toBeLessThanOrEqual(Reading.TOOLS)
    expect(tasks).toContain(detector.task(said).task)
    expect(Detect.intents).toContain(detector.intent(said))
  }, { arbitrary: { runs: 200 } })

  it.prop("keeps beginning and end of any parts", { texts: Arbitrary.schema(Schema.Array(Schema.String)) }, ({ texts }) => {
    const said = chat(texts.map((text) => ({ type: "text", text })))
    const own = texts.filter((text) => !text.startsWith("<system-reminder>"))
    expect(said.length).toBe(own.reduce((sum, { length }) => sum + length, 0))
    if (said.length < 1_000) expect(said.text.replaceAll("\n", "")).toBe(own.join("").replaceAll("\n", ""))
  }, { arbitrary: { runs: 200 } })

  it.prop("does not change with what a tool loop adds", { asked: Arbitrary.schema(Schema.String), results: Arbitrary.schema(Schema.Array(Schema.String)) }, ({ asked, results }) => {
    const loop = results.flatMap((content) => [{ role: "assistant", content: "", tool_calls: [{ id: "1" }] }, { role: "tool", tool_call_id: "1", content }])
    expect(Reading.read({ messages: [{ role: "user", content: asked }, ...loop] })).toEqual(Reading.read({ messages: [{ role: "user", content: asked }] }))
  }, { arbitrary: { runs: 100 } })
})
