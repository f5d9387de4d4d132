/**
 * Runs a client where nothing but the gateway can be reached: in a network namespace of its own, whose one open port leads through a
 * Unix socket to the gateway. Arguments: socket, port, then the command.
 */
import { spawn } from "node:child_process"
import * as net from "node:net"

const [socket, port, command, ...args] = process.argv.slice(2)

const server = net.createServer((client) => {
  const gateway = net.connect(socket)
  client.pipe(gateway).pipe(client)
  client.on("error", () => gateway.destroy())
  gateway.on("error", () => client.destroy())
})

server.listen(Number(port), "127.0.0.1", () => {
  spawn(command, args, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1))
})
