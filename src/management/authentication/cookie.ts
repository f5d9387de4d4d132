/** The auth_token cookie as it is given and taken back. */
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { COOKIE, LIFETIME_MS } from "./Sessions.ts"

export const NAME = COOKIE

const attributes = (secure: boolean) => ({ httpOnly: true, sameSite: "lax", path: "/", secure } as const)

export const give = (response: HttpServerResponse.HttpServerResponse, value: string, secure: boolean): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setCookieUnsafe(response, NAME, value, { ...attributes(secure), maxAge: LIFETIME_MS })

export const takeBack = (response: HttpServerResponse.HttpServerResponse, secure: boolean): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.expireCookieUnsafe(response, NAME, attributes(secure))
