/** undici's barrel costs 90 ms at start (fetch, mocks, caches); its HTTP/1 client alone costs 35 ms. */
declare module "undici/lib/dispatcher/client.js" {
  export { Client as default } from "undici"
}
