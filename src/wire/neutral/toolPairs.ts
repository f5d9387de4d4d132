/**
 * Tool calls and their results must pair up before a conversation is written in another format: every vendor refuses orphans, in
 * words about a request the client never wrote.
 */
import type { Conversation, ContentPart, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import { invalid, missingMessages } from "#src/wire/neutral/settings.ts"

/** What stands for the result of a call that the client never answered. */
const missingResult = "[No response was given for this tool call.]"

/**
 * Answers the turns with results directly behind their calls, in the order of the calls, names filled in, and a fixed text for a
 * call without a result. Throws (inside `reading`) for a result without a call and for an id answered twice.
 */
export const paired = (conversation: Conversation, added: (field: string) => void): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  let open: Map<string, ToolCallPart> | null = null
  let callsPath = ""
  let results = new Map<string, ToolResultPart>()
  let resultsPath = ""
  /** System texts that stood between calls and their results. */
  let deferred: Array<Turn> = []

  const close = (): void => {
    if (open === null) return
    const inOrder: Array<ContentPart> = []
    for (const [id, call] of open) {
      const result = results.get(id)
      if (result === undefined) added(`${callsPath} (tool result added)`)
      inOrder.push(result === undefined ? absent(call) : result.name === null ? { ...result, name: call.name } : result)
    }
    if (inOrder.length > 0) turns.push({ role: "tool", parts: inOrder, name: null, path: resultsPath === "" ? callsPath : resultsPath })
    open = null
    results = new Map()
    resultsPath = ""
    for (const turn of deferred) turns.push(turn)
    deferred = []
  }

  for (const turn of conversation.turns) {
    if (turn.role === "tool") {
      for (const part of turn.parts) {
        if (part.kind !== "toolResult") continue
        if (open === null || !open.has(part.id)) {
          throw missingMessages(conversation) ?? invalid(turn.path, `${turn.path} holds a tool result for '${clip(part.id)}', but no call of that id precedes it.`)
        }
        if (results.has(part.id)) throw invalid(turn.path, `${turn.path} answers tool call '${clip(part.id)}' a second time.`)
        results.set(part.id, part)
      }
      if (resultsPath === "") resultsPath = turn.path
      continue
    }
    if (turn.role === "system" || turn.role === "developer") {
      if (open === null) turns.push(turn)
      else deferred.push(turn)
      continue
    }
    close()
    turns.push(turn)
    const calls = turn.role === "assistant" ? turn.parts.filter((part): part is ToolCallPart => part.kind === "toolCall") : []
    if (calls.length > 0) {
      open = new Map()
      callsPath = turn.path
      for (const call of calls) {
        if (open.has(call.id)) throw invalid(turn.path, `${turn.path} holds two tool calls with the id '${clip(call.id)}'.`)
        open.set(call.id, call)
      }
    }
  }
  close()
  return turns
}

/** An assistant turn split by others of the same role is one turn for formats whose roles alternate. */
export const merged = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const out: Array<Turn> = []
  /** Parts of the last one, where it is several. */
  let together: Array<ContentPart> | null = null
  for (const turn of turns) {
    const last = out[out.length - 1]
    if (last === undefined || last.role !== turn.role) {
      out.push(turn)
      together = null
      continue
    }
    if (together === null) {
      together = [...last.parts]
      out[out.length - 1] = { ...last, parts: together }
    }
    for (const part of turn.parts) together.push(part)
  }
  return out
}

const absent = (call: ToolCallPart): ToolResultPart => ({
  kind: "toolResult", id: call.id, name: call.name, isError: false, cache: null,
  content: [{ kind: "text", text: missingResult, cache: null, annotations: [], signature: null }]
})

const clip = (id: string): string => id.slice(0, 64)

export interface OpenCall {
  readonly id: string
  readonly name: string
  answered: boolean
}

/** Calls in their order. Each answered one is passed over once, so that many take no longer to find. */
class Line {
  readonly calls: Array<OpenCall> = []
  private next = 0

  first(): OpenCall | undefined {
    while (this.calls[this.next]?.answered === true) this.next++
    return this.calls[this.next]
  }
}

/** Calls of one turn that wait for their results, for formats that may name a result by the function alone. */
export class OpenCalls {
  private readonly all = new Line()
  /** Made when a result is looked for: most turns have a call or none. */
  private ids: ReadonlyMap<string, Line> | null = null
  private names: ReadonlyMap<string, Line> | null = null

  add(id: string, name: string): void {
    this.all.calls.push({ id, name, answered: false })
    this.ids = null
    this.names = null
  }

  /** The first call of an id, answered or not. */
  ofId(id: string): OpenCall | undefined {
    return this.byId().get(id)?.calls[0]
  }

  /** The first call of an id that still waits. */
  waitingOfId(id: string): OpenCall | undefined {
    return this.byId().get(id)?.first()
  }

  waitingOfName(name: string): OpenCall | undefined {
    this.names ??= linesBy(this.all.calls, (call) => call.name)
    return this.names.get(name)?.first()
  }

  waiting(): OpenCall | undefined {
    return this.all.first()
  }

  private byId(): ReadonlyMap<string, Line> {
    return this.ids ??= linesBy(this.all.calls, (call) => call.id)
  }
}

const linesBy = (calls: ReadonlyArray<OpenCall>, keyOf: (call: OpenCall) => string): ReadonlyMap<string, Line> => {
  const lines = new Map<string, Line>()
  for (const call of calls) {
    const line = lines.get(keyOf(call)) ?? new Line()
    lines.set(keyOf(call), line)
    line.calls.push(call)
  }
  return lines
}
