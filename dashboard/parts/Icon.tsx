/** Icons: strokes on a grid of 24, drawn in the colour of the text around them. They never carry meaning alone. */
const paths = {
  overview: "M3 12h4l3-8 4 16 3-8h4",
  requests: "M4 6h16M4 12h16M4 18h10",
  usage: "M4 20V10m5 10V4m5 16v-7m5 7V8",
  resilience: "M12 3l8 3v6c0 4.5-3.2 7.8-8 9-4.8-1.2-8-4.5-8-9V6z",
  providers: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  combos: "M4 12h5l6-7h5M9 12l6 7h5M9 12h11",
  keys: "M14 10a4 4 0 1 0-3 3.9l1.5 1.6H15V18h2.5v2.5H21V17l-6.1-6.1",
  play: "M7 4.5v15l12-7.5z",
  settings: "M4 7h9m4 0h3M4 17h3m4 0h9M13 4.5v5M7 14.5v5",
  nodes: "M12 3v6m0 0l-6 6m6-6l6 6M4 15h4v5H4zm12 0h4v5h-4zM9.5 3h5v4h-5z",
  models: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  audit: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h5",
  webhooks: "M12 9.5a3 3 0 1 0-2.800-4M12 9.500L8 16m8.500-1.500a3 3 0 1 1-2 5H8m0-4a3 3 0 1 0 1.500 5.500M11 6l4.500 8.500",
  limits: "M4 18a8 8 0 1 1 16 0M12 18l4-6M12 18h.01",
  cache: "M4 6c0-1.700 3.600-3 8-3s8 1.300 8 3-3.600 3-8 3-8-1.300-8-3zm0 0v12c0 1.700 3.600 3 8 3s8-1.300 8-3V6M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3",
  leases: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3M12 15v2",
  work: "M4 5h6l2 2.500h8V19H4zM9 13h6",
  agents: "M7 8h10v9H7zM12 4v4M4 11v4m16-4v4M10 12h.01M14 12h.01M10 20h4",
  evals: "M4 6l1.500 1.500L8 5M4 12.500L5.500 14 8 11.500M4 19l1.500 1.500L8 18M11.500 6.500H20M11.500 13H20M11.500 19.500H20",
  now: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.500l3 1.500",
  guardrails: "M3 8h18M3 14h18M6 5v15M18 5v15",
  proxies: "M3 12h6m6 0h6M9 8h6v8H9zM18 9l3 3-3 3",
  backups: "M4 5h16v4H4zM5 9v10h14V9M12 11.500v5m-2.500-2.500l2.500 2.500 2.500-2.500",
  compression: "M4 12h16M12 3v6m-3-3l3 3 3-3M12 21v-6m-3 3l3-3 3 3",
  prompts: "M4 5h16v11H10l-4 4v-4H4zM8 9h8M8 12h5",
  addresses: "M12 21c-4-4.500-6-7.500-6-11a6 6 0 0 1 12 0c0 3.500-2 6.500-6 11zM12 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  plugins: "M9 3v5m6-5v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3",
  memory: "M5 4h14v16l-7-4-7 4z",
  skills: "M8 8l-4 4 4 4m8-8l4 4-4 4M13.500 5l-3 14",
  tasks: "M12 3v18M12 5h6l2.500 2.500L18 10h-6M12 12H6l-2.500 2.500L6 17h6",
  rules: "M4 6h10m-10 6h6m-6 6h10M15 13l2.500 2.500L22 11",
  help: "M9 9a3 3 0 1 1 4.200 2.700c-.800.400-1.200 1-1.200 1.800v.500M12 17.500h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  upload: "M12 16V5m-5 5l5-5 5 5M4 17v3h16v-3",
  download: "M12 4v11m-5-5l5 5 5-5M4 17v3h16v-3",
  welcome: "M12 3l2.5 6.2L21 12l-6.5 2.8L12 21l-2.5-6.2L3 12l6.5-2.8z",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.5l4.5 4.5L19 7.5",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4l1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  screen: "M3 5h18v11H3zM9 20h6m-3-4v4",
  signOut: "M10 4H5v16h5M15 8l4 4-4 4m4-4H9",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3m-7 0l1 13h8l1-13",
  test: "M9 3h6m-5 0v6l-5 9a2 2 0 0 0 1.8 3h10.4a2 2 0 0 0 1.8-3l-5-9V3M8 15h8",
  up: "M12 19V5m-6 6l6-6 6 6",
  down: "M12 5v14m-6-6l6 6 6-6",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  stop: "M6 6h12v12H6z",
  refresh: "M20 6v5h-5M4 18v-5h5M5.5 9A7 7 0 0 1 18 7l2 4M4 13l2 4a7 7 0 0 0 12.500-2"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth={1.7} strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)
