import type { Server } from "@modelcontextprotocol/sdk/server/index.js"
export const toolHandlers: (server: Server, more?: Set<string>) => void
