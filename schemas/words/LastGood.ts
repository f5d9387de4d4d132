/** Among the settings: when an operator had every node forget what answered last. */
export const forgottenKey = "lkgpForgottenAt"
