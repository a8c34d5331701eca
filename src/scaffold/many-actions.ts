// how fast policies of many actions learn: their divergence is a sum over actions
/** Actions up to which a rate of Adam's does for all robots. */
const FEW = 200;
/** A first rate beyond, times the actions; it then aims at the divergence. */
const RATE = 0.02;
const AIM = 0.02;

/** Entries of PPO's config for so many actions, in code. */
export const rateOf = (actions: number): string =>
  actions <= FEW
    ? "learningRate: 1e-3"
    : `learningRate: ${(RATE / actions).toExponential(0)}, schedule: "adaptive", targetKl: ${AIM}`;
