/** What the generated operations of files lack: the form of an upload, ranges, and errors in the words of the OpenAI API. */
import type { JsonObject } from "./json.ts"
import { text } from "./operation.ts"
import * as Overlay from "./overlay.ts"

const failures: Readonly<Record<number, string>> = {
  400: "A field or a query parameter cannot be used; `param` names it. Nothing was kept.",
  401: "No key came with the call, or it is not valid. Files are never served without one.",
  403: "The key may not use this endpoint or address, or a browser sent the call from another origin.",
  404: "There is no such file of this key, or its time is over.",
  408: "The file did not arrive in time.",
  413: "The file is larger than 512 MiB.",
  415: "The body is no multipart/form-data with a boundary, or is compressed.",
  416: "The range asks for no byte of the file; `Content-Range` says how many there are.",
  500: "Unexpected failure; the log holds the request id.",
  503: "The records or the store of bytes cannot be reached; `Retry-After` says when to repeat.",
  507: "There is no space for the file; nothing of it was kept."
}

const errors = Overlay.errorsOf(failures)

const header = (name: string, description: string): JsonObject => ({ name, in: "header", required: false, description, schema: text })
const range = [header("Range", "One range of bytes, such as `bytes=0-1023`; others are ignored."), header("If-Range", "The range counts only while the file has this ETag."), header("If-None-Match", "An ETag that the caller has already.")]
const partial: JsonObject = {
  206: { description: "The range.", headers: { "Content-Range": { description: "First and last byte, and the size of the file.", schema: text } }, content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } } },
  304: { description: "The caller has the file already." }
}

const id = "file-9f2c41d07be84c0fa1d35b6e7c8d9e0f"
const file: JsonObject = {
  id, object: "file", bytes: 120, created_at: 1795219200, expires_at: null, filename: "lines.jsonl", purpose: "batch", status: "processed", status_details: null
}
const list: JsonObject = { object: "list", data: [file], first_id: id, last_id: id, has_more: false }

const overlays: Readonly<Record<string, Overlay.Overlay>> = {
  "POST /v1/files": {
    body: {
      required: true,
      content: {
        "multipart/form-data": {
          schema: {
            type: "object",
            properties: {
              file: { type: "string", format: "binary" },
              purpose: { type: "string", minLength: 1, maxLength: 64, description: "What the file is for, such as batch, assistants, fine-tune, vision, user_data or evals." },
              "expires_after[anchor]": { type: "string", enum: ["created_at"] },
              "expires_after[seconds]": { type: "integer", minimum: 3600, maximum: 2592000 }
            },
            required: ["file", "purpose"]
          }
        }
      }
    },
    example: file,
    responses: errors(400, 408, 413, 415, 507)
  },
  "GET /v1/files": { example: list, responses: errors(400) },
  "GET /v1/files/:id": { example: file, responses: errors(400, 404) },
  "DELETE /v1/files/:id": { example: { id, object: "file", deleted: true }, responses: errors(400, 404) },
  "GET /v1/files/:id/content": { parameters: range, responses: { ...partial, ...errors(400, 404, 416) } },
  "GET /api/files": { example: list, responses: errors(400) },
  "GET /api/files/:id/content": { parameters: range, responses: { ...partial, ...errors(400, 404, 416) } }
}

/** The operation with what is known of it here; any other one as it is. */
export const overlaid = Overlay.over(overlays)
