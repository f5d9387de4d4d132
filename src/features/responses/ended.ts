/** What a finished response says, and what of it goes into its conversation. */
import type { AdmittedCall } from "#src/inference/lane/stages/Stages.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Members from "#src/wire/json/members.ts"
import * as ItemTexts from "#src/wire/responses/itemTexts.ts"
import type { Status } from "./ResponseStore.ts"
import type { StoredConversations } from "./StoredConversations.ts"

const ends: ReadonlySet<string> = new Set(["completed", "incomplete", "failed"])

export interface Ended {
  readonly id: string
  readonly status: Status
  readonly parsed: Record<string, unknown>
}

/** Null for JSON text that is no finished response. */
export const read = (response: Buffer): Ended | null => {
  const parsed = Json.parseRecord(response.toString("utf8"))
  const id = parsed?.["id"]
  const status = parsed?.["status"]
  return parsed === null || typeof id !== "string" || typeof status !== "string" || !ends.has(status) ? null : { id, status: status as Status, parsed }
}

/** The items of a request's input, those of earlier responses included. */
export const inputOf = (call: Pick<AdmittedCall, "body">): Buffer => ItemTexts.ofInput(Members.of(call.body)?.get("input")) ?? Buffer.alloc(0)

/** Appends what was asked and answered to the conversation, where the request names one and did not fail. */
export const say = (conversations: Pick<StoredConversations["Service"], "note">, { asked }: Pick<AdmittedCall, "asked">, input: Buffer, { parsed, status }: Ended): void => {
  const conversation = asked?.conversation ?? null
  if (conversation === null || status === "failed") return
  const said = ItemTexts.each(input).slice(conversation.known).map((item) => JSON.parse(item.toString("utf8")) as unknown)
  conversations.note(conversation.id, [...said, ...Array.isArray(parsed["output"]) ? parsed["output"] as ReadonlyArray<unknown> : []])
}
