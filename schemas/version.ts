/** Build version: the package's, kept equal by a test; header X-Gateway-Version and /api/health/ping say it. */
export const version = "0.1.0"
