/** Whether a request carries the right AWS signature of version 4 and the digest of its body; written after the specification. */
import { createHash, createHmac } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

const sha256 = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex")
const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac("sha256", key).update(text).digest()
const encoded = (text: string): string => encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** Null, or S3's code for what is wrong. */
export const problem = (request: { readonly method: string; readonly target: string; readonly headers: IncomingHttpHeaders; readonly body: Uint8Array }, secret: string): string | null => {
  const { body, headers, method, target } = request
  const found = /^AWS4-HMAC-SHA256 Credential=[^/]+\/((\d{8})\/([^/]+)\/s3\/aws4_request), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? "")
  if (found === null) return "AccessDenied"
  const [, scope = "", date = "", region = "", names = "", signature] = found
  if (headers["x-amz-content-sha256"] !== sha256(body)) return "XAmzContentSHA256Mismatch"
  const signed = names.split(";")
  if (!["host", "x-amz-date", "x-amz-content-sha256"].every((name) => signed.includes(name))) return "AccessDenied"
  const url = new URL(target, "http://s3")
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort().join("&")
  const canonical = [method, url.pathname, query, ...signed.map((name) => `${name}:${String(headers[name] ?? "").trim()}`), "", names, headers["x-amz-content-sha256"]].join("\n")
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), "s3"), "aws4_request")
  const expected = hmac(key, ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n")).toString("hex")
  return signature === expected ? null : "SignatureDoesNotMatch"
}
