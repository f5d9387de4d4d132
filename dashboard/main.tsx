import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { lazy, StrictMode, Suspense } from "react"
import { createRoot } from "react-dom/client"
import { queryClient } from "./api/query.ts"
import { isOwnPage } from "./app/place.ts"
import { router } from "./app/routes.tsx"
import { Session } from "./app/Session.tsx"
import "./style/all.css"

/** The page of key holders: it needs a key and no session. */
const Me = lazy(() => import("./screens/me/Me.tsx"))

const RELOADED = "gateway-reloaded"

// After an upgrade the chunks of the page that is open are gone: it is loaded again, once.
window.addEventListener("vite:preloadError", (event) => {
  if (sessionStorage.getItem(RELOADED) !== null) return
  sessionStorage.setItem(RELOADED, "1")
  event.preventDefault()
  window.location.reload()
})

const place = document.getElementById("root")
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        {isOwnPage(window.location.pathname) ? <Suspense><Me /></Suspense> : (
          <Session>
            <RouterProvider router={router} />
          </Session>
        )}
      </QueryClientProvider>
    </StrictMode>
  )
}
