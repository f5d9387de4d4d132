import { assert, it } from "@effect/vitest"
import { localUrlOf, urlOf } from "#src/platform/configuration/address.ts"

it("the address of the gateway is the one that it listens on", () => {
  assert.strictEqual(urlOf({ host: "gateway.lan", tlsCert: null }, 80), "http://gateway.lan:80")
  assert.strictEqual(urlOf({ host: "::1", tlsCert: "cert.pem" }, 443), "https://[::1]:443")
})

it("callers on its machine reach a gateway that listens on every address over loopback", () => {
  assert.strictEqual(localUrlOf({ host: "0.0.0.0", tlsCert: null }, 20128), "http://127.0.0.1:20128")
  assert.strictEqual(localUrlOf({ host: "::", tlsCert: "cert.pem" }, 443), "https://[::1]:443")
  assert.strictEqual(localUrlOf({ host: "192.0.2.7", tlsCert: null }, 80), "http://192.0.2.7:80")
  assert.strictEqual(localUrlOf({ host: "fe80::1", tlsCert: null }, 80), "http://[fe80::1]:80")
})
