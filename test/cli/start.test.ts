import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import * as Postgres from "#test/support/postgres.ts"
import { emptyDirectory, freePort, run, start, takenPort } from "./support/command.ts"
import { serve } from "./support/dataDir.ts"
import { cert, key } from "#test/upstream/support/selfSigned.ts"
import * as OidcProvider from "#test/support/oidcProvider.ts"

const server = await Postgres.findServer()
afterAll(server.stop)

/** Signs in by single sign-on, and then switches the password off. */
const switchPasswordOff = async (url: string, cookie: string): Promise<void> => {
  const issuer = await OidcProvider.start(() => `http://localhost:${new URL(url).port}/api/auth/oidc/callback`)
  const change = async (method: string, path: string, body: unknown) =>
    (await fetch(url + path, { method, headers: { cookie, "content-type": "application/json" }, body: JSON.stringify(body) })).status
  const settings = { oidcEnabled: true, oidcIssuer: issuer.issuer, oidcClientId: OidcProvider.CLIENT_ID, oidcClientSecret: OidcProvider.CLIENT_SECRET, oidcAllowedSubjects: [issuer.subject] }
  expect(await change("PATCH", "/api/settings", settings)).toBe(200)
  const begun = await fetch(`${url}/api/auth/oidc/login`, { redirect: "manual" })
  const back = issuer.consent(begun.headers.get("location") ?? "")
  const state = (begun.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? ""
  expect((await fetch(url + back.pathname + back.search, { redirect: "manual", headers: { cookie: state } })).status).toBe(302)
  expect(await change("PUT", "/api/settings/feature-flags", { key: "GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN", value: "true" })).toBe(200)
  expect(await change("POST", "/api/auth/login", { password: "any" })).toBe(403)
  await issuer.close()
}

describe("a start that fails", () => {
  it("names every variable that cannot be used, with exit code 1 and no stack", async () => {
    const { code, stderr, stdout } = await run([], { env: { PORT: "99999", LOG_LEVEL: "loud", REQUEST_TIMEOUT_MS: "soon", GATEWAY_SECRET: "short" } })
    expect(code).toBe(1)
    for (const name of ["PORT='99999'", "LOG_LEVEL='loud'", "REQUEST_TIMEOUT_MS='soon'", "GATEWAY_SECRET"]) expect(stderr).toContain(name)
    expect(stderr).not.toMatch(/\n\s+at /)
    expect(stderr).not.toContain("short'")
    expect(stdout).toBe("")
  })

  it("names flags whose value is none, short passwords and URLs of another kind, and shows none of their secrets", async () => {
    const { code, stderr } = await run([], {
      env: {
        REQUIRE_API_KEY: "maybe", INJECTION_GUARD_MODE: "loud", INITIAL_PASSWORD: "hush-hu", DATABASE_URL: "mysql://me:hush-hush@127.0.0.1/db",
        REDIS_URL: "http://:hush-hush@127.0.0.1", OTEL_EXPORTER_OTLP_ENDPOINT: "hush-hush"
      }
    })
    expect(code).toBe(1)
    for (const problem of [
      "REQUIRE_API_KEY='maybe' is not one of", "INJECTION_GUARD_MODE='loud' is not one of off, warn, block, redact",
      "INITIAL_PASSWORD is not a password of 8 to 200 characters", "DATABASE_URL is not a URL of Postgres", "REDIS_URL is not a URL of Redis",
      "OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL"
    ]) expect(stderr).toContain(problem)
    expect(stderr).not.toContain("hush")
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it("on a port that is taken names the address, the process and the way out", async () => {
    const taken = await takenPort()
    const { code, stderr } = await run(["serve", "--port", String(taken.port), "--data-dir", path.join(emptyDirectory(), "data")])
    taken.close()
    expect(code).toBe(1)
    expect(stderr).toContain(`127.0.0.1:${taken.port}`)
    expect(stderr).toContain(`process ${process.pid}`)
    expect(stderr).toContain("--port")
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it("on a data directory that cannot be made names the variable and ends, whatever the file system says", async () => {
    const file = path.join(emptyDirectory(), "file")
    fs.writeFileSync(file, "")
    // Of /proc, where every mkdir answers that the parent is missing.
    for (const dataDir of [file, path.join(file, "data"), "/proc/nowhere/data"]) {
      for (const secret of ["", "a master secret of an operator"]) {
        const { code, stderr } = await run(["serve", "--port", "0"], { env: { GATEWAY_DATA_DIR: dataDir, GATEWAY_SECRET: secret } })
        expect(code).toBe(1)
        expect(stderr).toContain(`GATEWAY_DATA_DIR=${dataDir} cannot be created: `)
        expect(stderr).toContain("Set GATEWAY_DATA_DIR to a directory")
        expect(stderr).not.toMatch(/\n\s+at /)
      }
    }
  })

  it("on a place in the data directory that cannot be written names it and the variable, and ends", async () => {
    const dataDir = emptyDirectory()
    // Access rights do not hold the root user of a container.
    const events = path.join(dataDir, "events")
    fs.writeFileSync(events, "")
    const { code, stderr } = await run(["serve", "--port", "0", "--data-dir", dataDir])
    expect(code).toBe(1)
    expect(stderr).toContain(events)
    expect(stderr).toContain("GATEWAY_DATA_DIR")
    expect(stderr).not.toContain("This should not happen")
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it("on a directory of files that cannot be made names the variable and ends", async () => {
    const file = path.join(emptyDirectory(), "file")
    fs.writeFileSync(file, "")
    const { code, stderr } = await run(["serve", "--port", "0", "--data-dir", emptyDirectory()], { env: { GATEWAY_FILES_DIR: file } })
    expect(code).toBe(1)
    expect(stderr).toContain(`The directory of files ${file} cannot be made: `)
    expect(stderr).toContain("Set GATEWAY_FILES_DIR")
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it("on a TLS file that is missing names the file and the variables", async () => {
    const files = { GATEWAY_TLS_KEY: path.join(emptyDirectory(), "key.pem"), GATEWAY_TLS_CERT: path.join(emptyDirectory(), "cert.pem") }
    const { code, stderr } = await run(["serve", "--port", "0", "--data-dir", emptyDirectory()], { env: files })
    expect(code).toBe(1)
    for (const text of [files.GATEWAY_TLS_KEY, "GATEWAY_TLS_KEY", "GATEWAY_TLS_CERT", "GATEWAY_TLS_PASSPHRASE"]) expect(stderr).toContain(text)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it("on TLS files that cannot serve names the file that is wrong, and what is wrong with it", async () => {
    const directory = emptyDirectory()
    const file = (name: string, text: string): string => {
      const at = path.join(directory, name)
      fs.writeFileSync(at, text)
      return at
    }
    const [certFile, keyFile, junk] = [file("cert.pem", cert), file("key.pem", key), file("junk.pem", "junk")]
    const other = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
    const otherFile = file("other.pem", other.export({ type: "pkcs8", format: "pem" }).toString())
    const sealed = file("sealed.pem", other.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "open" }).toString())
    for (const [GATEWAY_TLS_CERT, GATEWAY_TLS_KEY, GATEWAY_TLS_PASSPHRASE, why] of [
      [junk, keyFile, "", `${junk} holds no certificate in PEM form`],
      [certFile, junk, "", `${junk} holds no private key in PEM form`],
      [certFile, sealed, "", `${sealed} needs a passphrase`],
      [certFile, sealed, "wrong", `${sealed} is not opened by the passphrase`],
      [certFile, otherFile, "", `the key of ${otherFile} is not the one of the certificate in ${certFile}`]
    ] as const) {
      const { code, stderr } = await run(["serve", "--port", "0", "--data-dir", emptyDirectory()], { env: { GATEWAY_TLS_CERT, GATEWAY_TLS_KEY, GATEWAY_TLS_PASSPHRASE } })
      expect(code).toBe(1)
      expect(stderr).toContain(`with TLS: ${why}.`)
      expect(stderr).not.toMatch(/\n\s+at /)
    }
  })

  it("on a database that cannot be reached says so without its password", async () => {
    const { code, stderr } = await run(["serve", "--port", "0", "--data-dir", emptyDirectory()], { env: { DATABASE_URL: "postgres://me:hush-hush@127.0.0.1:1/db" } })
    expect(code).toBe(1)
    expect(stderr).toContain("127.0.0.1:1")
    expect(stderr).toContain("DATABASE_URL")
    expect(stderr).not.toContain("hush-hush")
    expect(stderr).not.toMatch(/\n\s+at /)
  })
})

describe("a start on a server without the database", () => {
  Postgres.withServer(server, "of a real Postgres", (url) => {
    it("says how to make it", async () => {
      const missing = new URL(url)
      missing.pathname = "/gateway_that_nobody_made"
      const { code, stderr } = await run(["serve", "--port", "0", "--data-dir", emptyDirectory()], { env: { DATABASE_URL: missing.href } })
      expect(code).toBe(1)
      expect(stderr).toContain("createdb gateway_that_nobody_made")
      expect(stderr).toContain("DATABASE_URL")
      expect(stderr).not.toContain("Start the server")
    })
  })
})

describe("a first start", () => {
  it("makes the password that opens the management, holds its directory alone, and leaves no note behind", async () => {
    const dataDir = path.join(emptyDirectory(), "data")
    const { command, url } = await serve(dataDir, { GATEWAY_WORKRES: "2" })
    expect(command.stdout).toContain("GATEWAY_WORKRES is set, and the gateway reads no such variable: did you mean GATEWAY_WORKERS?")
    const password = /Management password: (\S+)/.exec(command.stdout)?.[1]
    expect(password).toHaveLength(20)
    const login = await fetch(`${url}/api/auth/login`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ password })
    })
    expect(login.status).toBe(200)
    expect(fs.existsSync(path.join(dataDir, "gateway.run.json"))).toBe(true)
    await switchPasswordOff(url, (login.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "")

    // Its directory is its own: others name its process.
    for (const args of [["serve", "--port", "0"], ["rekey"]]) {
      const refused = await run([...args, "--data-dir", dataDir])
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain(`process ${command.pid}`)
      expect(refused.stderr).toContain(dataDir)
    }
    expect((await command.stop()).code).toBe(0)
    expect(fs.existsSync(path.join(dataDir, "gateway.run.json"))).toBe(false)
    expect(fs.existsSync(path.join(dataDir, "pglite.lock"))).toBe(false)

    // A password that was reset takes the generated one's place, and is taken although it was switched off.
    const reset = await run(["password", "reset", "--stdin", "--data-dir", dataDir], { input: "correct horse battery\n" })
    expect(reset.code).toBe(0)
    expect(reset.stdout).not.toContain("correct horse")
    expect(reset.stdout).toContain("Cleared the flag GATEWAY_OIDC_DISABLE_PASSWORD_LOGIN: the password signs in again.")
    const again = await serve(dataDir)
    expect(again.command.stdout).not.toContain("Management password")
    const statusOf = async (text: string) => (await fetch(`${again.url}/api/auth/login`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ password: text })
    })).status
    expect(await statusOf(password ?? "")).toBe(401)
    expect(await statusOf("correct horse battery")).toBe(200)
    await again.command.stop()
  })
})

describe("variables", () => {
  it(".env is read; the process's variables win over it, options over both", async () => {
    const cwd = emptyDirectory()
    const [a, b, c] = [await freePort(), await freePort(), await freePort()]
    fs.writeFileSync(path.join(cwd, ".env"), `PORT=${a}\nGATEWAY_DATA_DIR="${path.join(cwd, "elsewhere")}"\nTOOL_POLICY_MODE=warn # a comment\n`)
    const file = await run(["doctor"], { cwd })
    expect(file.stdout).toContain(`127.0.0.1:${a} is free`)
    expect(file.stdout).toContain(path.join(cwd, "elsewhere"))
    expect(file.stdout).toContain("1 of 74 set")
    const real = await run(["doctor"], { cwd, env: { PORT: String(b) } })
    expect(real.stdout).toContain(`127.0.0.1:${b} is free`)
    expect(real.stdout).toContain("overrides its PORT")
    const option = await run(["doctor", "--port", String(c)], { cwd, env: { PORT: String(b) } })
    expect(option.stdout).toContain(`127.0.0.1:${c} is free`)
  })
})

describe("gateway sim", () => {
  it("serves a script file until a signal, and names what is wrong with one", async () => {
    const cwd = emptyDirectory()
    fs.writeFileSync(path.join(cwd, "good.json"), JSON.stringify({ models: { mine: { text: "from the script" } } }))
    fs.writeFileSync(path.join(cwd, "bad.json"), JSON.stringify({ models: { mine: { tokens: -1 } } }))
    const bad = await run(["sim", "--port", "0", "--script", "bad.json"], { cwd })
    expect(bad.code).toBe(1)
    expect(bad.stderr).toContain("tokens")
    const sim = start(["sim", "--port", "0", "--script", "good.json"], { cwd })
    await sim.said("a first stream")
    const url = /listening on (\S+)/.exec(sim.stdout)?.[1] ?? ""
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model: "mine", messages: [{ role: "user", content: "x" }] })
    })
    expect(await answer.text()).toContain("from the script")
    expect((await sim.stop()).code).toBe(0)
  })
})
