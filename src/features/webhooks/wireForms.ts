/** What goes on the wire for each kind of receiver: the documented headers with a signature, or a chat tool's own body. */
import { createHmac } from "node:crypto"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { SentEvent } from "#actors/webhook/ports/WebhookSender.ts"
import type { Webhook } from "#schemas/records/Webhook.ts"
import type { Form } from "#src/platform/upstream/post/GuardedPost.ts"

/** Telegram's own fields: the bot's token, and the address of a Bot API server of one's own. */
const TelegramMetadata = Schema.Struct({ botToken: Schema.String, apiUrl: Schema.optionalKey(Schema.String) })
const decodeTelegram = Schema.decodeUnknownOption(Schema.fromJsonString(TelegramMetadata))

/** Where bots are asked that name no server of their own. */
export const TELEGRAM = "https://api.telegram.org"
/** Longest texts that the tools take, characters. */
const DISCORD_CHARS = 2_000
const TELEGRAM_CHARS = 4_096
const SLACK_CHARS = 4_000

const json = { "content-type": "application/json", "user-agent": "Gateway-Webhook/1.0" }

/** `sha256=<hex>` over the raw body. */
export const signature = (secret: string, body: string): string => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`

interface Payload {
  readonly event: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A line per field, as a person reads it. */
export const textOf = (body: string, limit: number): string => {
  const { data, event, timestamp } = JSON.parse(body) as Payload
  const lines = Object.entries(data).filter(([, value]) => value !== null && value !== "").map(([name, value]) => `${name}: ${String(value)}`)
  return [`[gateway] ${event} (${timestamp})`, ...lines].join("\n").slice(0, limit)
}

/** Null when the record lacks what its kind needs. */
export const wireForm = (webhook: Webhook, event: SentEvent): Form | null => {
  const url = Redacted.value(webhook.url)
  switch (webhook.kind) {
    case "custom":
      return {
        url,
        headers: {
          ...json,
          "x-webhook-event": event.type,
          "x-webhook-timestamp": event.sentAt ?? (JSON.parse(event.body) as Payload).timestamp,
          "x-webhook-signature": signature(Redacted.value(webhook.secret), event.body)
        },
        body: event.body
      }
    case "slack":
      return { url, headers: json, body: JSON.stringify({ text: textOf(event.body, SLACK_CHARS) }) }
    case "discord":
      return { url, headers: json, body: JSON.stringify({ content: textOf(event.body, DISCORD_CHARS) }) }
    case "telegram": {
      const metadata = webhook.metadata === null ? null : decodeTelegram(Redacted.value(webhook.metadata))
      if (metadata === null || metadata._tag === "None") return null
      const { apiUrl = TELEGRAM, botToken } = metadata.value
      return {
        url: `${apiUrl.replace(/\/+$/, "")}/bot${botToken}/sendMessage`,
        headers: json,
        body: JSON.stringify({ chat_id: url, text: textOf(event.body, TELEGRAM_CHARS) })
      }
    }
  }
}
