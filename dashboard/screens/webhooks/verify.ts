/** How a receiver checks that an event came from this gateway, in four languages. */
export const languages = { node: "Node.js", python: "Python", go: "Go", shell: "Shell" } as const
export type Language = keyof typeof languages

export const snippets: Readonly<Record<Language, string>> = {
  node: `import { createHmac, timingSafeEqual } from "node:crypto"

/** body: the bytes as they came, before they are parsed. header: X-Webhook-Signature. */
export const isGenuine = (body, header, secret) => {
  const expected = Buffer.from("sha256=" + createHmac("sha256", secret).update(body).digest("hex"))
  const given = Buffer.from(header ?? "")
  return given.length === expected.length && timingSafeEqual(given, expected)
}`,
  python: `import hashlib
import hmac

def is_genuine(body: bytes, header: str, secret: str) -> bool:
    """body: the bytes as they came, before they are parsed. header: X-Webhook-Signature."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, header or "")`,
  go: `import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// body: the bytes as they came, before they are parsed. header: X-Webhook-Signature.
func isGenuine(body []byte, header, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(header))
}`,
  shell: `# BODY: a file with the bytes as they came. HEADER: X-Webhook-Signature.
[ "$HEADER" = "sha256=$(openssl dgst -sha256 -hmac "$SECRET" -r < "$BODY" | cut -d' ' -f1)" ] && echo genuine`
}
