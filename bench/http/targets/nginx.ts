import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, listening, programPath, start, workDirectory } from "#bench/http/servers/processes.ts"
import { type Candidate, owned, type Surroundings } from "./Target.ts"

const LISTEN_TIMEOUT_MS = 10_000

/** One process, one worker, unbuffered: each event leaves when it arrives, as a gateway must do it. */
const configuration = (directory: string, port: number, mockPort: number): string => `
daemon off;
master_process off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log warn;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  keepalive_requests 1000000000;
  client_max_body_size 64m;
  tcp_nodelay on;
  upstream mock {
    server 127.0.0.1:${mockPort};
    keepalive 2048;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location /files/ {
      root ${directory}/kept;
      dav_methods PUT;
      create_full_put_path on;
    }
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`

export const nginx = (around: Surroundings): Candidate => {
  const program = programPath("nginx")
  if (program === null) return { name: "nginx", missing: "no nginx on PATH" }
  return {
    target: {
      name: "nginx",
      owned: true,
      translates: false,
      launch: async (instance) => {
        const directory = join(workDirectory, `nginx-${instance}`)
        mkdirSync(directory, { recursive: true })
        const file = join(directory, "nginx.conf")
        const port = await freePort()
        writeFileSync(file, configuration(directory, port, around.mockPort))
        const child = start(program, ["-p", directory, "-e", join(directory, "error.log"), "-c", file], {
          name: `nginx-${instance}`,
          cpu: around.cpu
        })
        return owned(child, port, await listening(child, "127.0.0.1", port, LISTEN_TIMEOUT_MS))
      }
    }
  }
}
