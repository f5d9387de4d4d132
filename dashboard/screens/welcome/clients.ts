/** What eight clients need to be told. */
interface Facts {
  readonly url: string
  readonly key: string
  readonly model: string
}

interface Client {
  readonly word: string
  readonly lines: (facts: Facts) => string
}

export const clients = {
  curl: {
    word: "curl",
    lines: ({ key, model, url }) => `curl -N ${url}/v1/chat/completions \\\n  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\\n  -d '{"model":"${model}","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`
  },
  openai: { word: "OpenAI SDKs", lines: ({ key, url }) => `export OPENAI_BASE_URL=${url}/v1\nexport OPENAI_API_KEY=${key}` },
  anthropic: { word: "Anthropic SDKs", lines: ({ key, url }) => `export ANTHROPIC_BASE_URL=${url}\nexport ANTHROPIC_AUTH_TOKEN=${key}` },
  claude: { word: "Claude Code", lines: ({ key, model, url }) => `export ANTHROPIC_BASE_URL=${url}\nexport ANTHROPIC_AUTH_TOKEN=${key}\nexport ANTHROPIC_MODEL=${model}` },
  codex: {
    word: "Codex CLI (config.toml)",
    lines: ({ key, model, url }) => `model = "${model}"\nmodel_provider = "gateway"\n\n[model_providers.gateway]\nname = "Gateway"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "GATEWAY_KEY"\n\n# in the shell: export GATEWAY_KEY=${key}`
  },
  gemini: { word: "Gemini CLI", lines: ({ key, url }) => `export GOOGLE_GEMINI_BASE_URL=${url}\nexport GEMINI_API_KEY=${key}` },
  qwen: { word: "Qwen Code", lines: ({ key, model, url }) => `export OPENAI_BASE_URL=${url}/v1\nexport OPENAI_API_KEY=${key}\nexport OPENAI_MODEL=${model}` },
  ollama: { word: "Ollama clients", lines: ({ key, url }) => `host: ${url}/v1\nheader: Authorization: Bearer ${key}` }
} as const satisfies Readonly<Record<string, Client>>

export type ClientName = keyof typeof clients
