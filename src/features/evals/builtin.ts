/** The suites that every gateway has: small, so that a new model is looked at for next to nothing. */
import type { EvalCase, EvalSuite } from "#schemas/records/Eval.ts"

const since = "2026-01-01T00:00:00.000Z"

const asked = (id: string, name: string, content: string, expected: EvalCase["expected"]): EvalCase =>
  ({ id, name, model: null, input: { messages: [{ role: "user", content }] }, expected, tags: ["basics"] })

export const suites: ReadonlyArray<EvalSuite> = [{
  id: "builtin-basics",
  name: "Basics",
  description: "Does it follow a short instruction, calculate, and write what was asked for?",
  cases: [
    asked("echo", "Says one word", "Reply with the single word: ready", { strategy: "contains", value: "ready" }),
    asked("sum", "Adds two numbers", "What is 17 + 25? Answer with the number only.", { strategy: "regex", value: "\\b42\\b" }),
    asked("capital", "Knows a capital", "What is the capital of Japan? Answer with the name only.", { strategy: "contains", value: "Tokyo" }),
    asked("json", "Writes JSON", "Answer with this JSON object and nothing else: {\"ok\": true}", { strategy: "regex", value: "\"ok\"\\s*:\\s*true" })
  ],
  builtIn: true,
  createdAt: since,
  updatedAt: since
}]
