#!/usr/bin/env node
/**
 * Ends with 0 when the gateway of this machine takes requests, else with 1 and the reason. Reads the gateway's own PORT and
 * GATEWAY_TLS_CERT. For a container's health check, or a script:
 *
 *     node deploy/healthcheck.mjs
 */
import * as http from "node:http"
import * as https from "node:https"

/** Also the path for load balancers. */
const path = "/api/health/ping"
const patienceMs = 2_500

const environment = process.env
const tls = (environment["GATEWAY_TLS_CERT"] ?? "") !== ""
const port = Number(environment["PORT"] || 20128)

const fail = (reason) => {
  console.error(reason)
  process.exit(1)
}

// The certificate names the gateway's public host, not the loopback address.
const options = { host: "127.0.0.1", port, path, timeout: patienceMs, rejectUnauthorized: false }
const request = (tls ? https : http).get(options, (response) => {
  response.resume()
  if (response.statusCode === 200) process.exit(0)
  fail(`${path} answered ${response.statusCode}`)
})
request.on("timeout", () => fail(`${path} did not answer within ${patienceMs} ms`))
request.on("error", (error) => fail(`${path} cannot be asked on port ${port}: ${error.message}`))
