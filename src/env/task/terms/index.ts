// the library of terms: functions that make terms of observations, rewards, conditions and starts
export { actionTable, combinations, evenly } from "./actions.ts";
export {
  all,
  clipped,
  inClosed,
  inOpen,
  normalNoise,
  positionsAndVelocities,
  sumOfSquares,
  uniformNoise,
} from "./basics.ts";
export { actuatorNumbers, encoders } from "./actuators.ts";
export { airTime, contactForce, inContact, touchdown, type ContactOptions } from "./contact.ts";
export { accelerationCost, actionRateCost, controlCost, powerCost, torqueCost, velocityCost } from "./costs.ts";
export { gait, type Gait, type GaitLeg, type LegGaitOptions } from "./gait.ts";
export {
  jointLimitCost,
  jointLimits,
  notFinite,
  outside,
  timeOut,
  velocityLimit,
  type JointLimitOptions,
  type SoftLimitOptions,
} from "./limits.ts";
export {
  angularVelocity,
  heading,
  height,
  linearVelocity,
  position,
  projectedGravity,
  tilt,
  upright,
  type VelocityOptions,
} from "./pose.ts";
export {
  rayFan,
  rayGrid,
  rays,
  type PatternRay,
  type RayFanOptions,
  type RayGridOptions,
  type RaysOptions,
} from "./rays.ts";
export { subtreeVelocity } from "./subtree.ts";
export { tolerance, type Sigmoid, type ToleranceOptions } from "./tolerance.ts";
export { terrainAt, terrainHeights, terrainRow, type TerrainHeightsOptions } from "./terrain.ts";
export { valueOf, type Source } from "./source.ts";
export { push, startAround, type PushOptions, type StartOptions } from "./starts.ts";
export { command, ramp, tracking, type CommandOptions } from "./tracking.ts";
