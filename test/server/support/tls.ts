/** A self-signed certificate for localhost, made afresh for each run. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Certificate {
  readonly keyFile: string
  readonly certFile: string
  readonly cert: Buffer
  readonly remove: () => void
}

export const makeCertificate = (passphrase?: string): Certificate => {
  const dir = mkdtempSync(join(tmpdir(), "front-end-tls-"))
  const keyFile = join(dir, "key.pem")
  const certFile = join(dir, "cert.pem")
  execFileSync("openssl", [
    "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
    "-keyout", keyFile, "-out", certFile,
    ...(passphrase === undefined ? ["-nodes"] : ["-passout", `pass:${passphrase}`])
  ], { stdio: "pipe" })
  return { keyFile, certFile, cert: readFileSync(certFile), remove: () => rmSync(dir, { recursive: true }) }
}
