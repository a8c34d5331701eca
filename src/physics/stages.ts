// the stages of the pipeline in MuJoCo's order: what each computes, reads and writes
import { CorralError } from "../core/errors.ts";
import type { FieldName } from "../model/fields.ts";
import { stage } from "../trace/control.ts";

/** A stage by the fields of the data that it may touch; what it writes it may read again. */
export interface StageRow {
  /** What it computes, and MuJoCo's function. */
  readonly doc: string;
  readonly reads: readonly FieldName[];
  readonly writes: readonly FieldName[];
  /** What it also writes in some models or forms of kernels. */
  readonly sometimes?: readonly FieldName[];
}

const JOINTS: readonly FieldName[] = ["qpos", "qvel"];
const BODIES: readonly FieldName[] = ["xpos", "xquat", "xmat", "xipos", "ximat"];
const GEOMS: readonly FieldName[] = ["geom_xpos", "geom_xmat"];
const CAMERAS: readonly FieldName[] = ["cam_xpos", "cam_xmat"];
const SITES: readonly FieldName[] = ["site_xpos", "site_xmat"];
const TENDONS: readonly FieldName[] = ["ten_length", "ten_velocity", "ten_J"];
const MOTION: readonly FieldName[] = ["cdof", "cdof_dot", "cvel", "subtree_com"];
const FACTORS: readonly FieldName[] = ["qLD", "qLDiagInv"];
/** What the arms of actuators depend on, beside qpos. */
const ARMS: readonly FieldName[] = ["ten_length", "ten_J", ...SITES, "xquat", "cdof", "subtree_com"];
/** What the slopes of actuators' forces depend on, beside `act` and their arms. */
const FORCES: readonly FieldName[] = [
  "ctrl",
  "history",
  "act_dot",
  "actuator_length",
  "actuator_velocity",
  "actuator_force",
];
/** What constraint rows and their Jacobians are made of. */
const ROWS: readonly FieldName[] = [
  ...JOINTS,
  ...GEOMS,
  ...MOTION,
  "eq_active",
  "xpos",
  "xquat",
  "xmat",
  "xanchor",
  "site_xpos",
  "ten_length",
  "ten_J",
];

/** What sensors read. */
const MEASURED: readonly FieldName[] = [
  ...JOINTS,
  ...BODIES,
  ...GEOMS,
  ...SITES,
  ...CAMERAS,
  ...MOTION,
  ...TENDONS,
  "time",
  "energy_vel",
  "qacc",
  "xfrc_applied",
  "cinert",
  "M",
  "actuator_length",
  "actuator_velocity",
  "actuator_force",
  "qfrc_actuator",
  "history",
];

/** Every stage by MuJoCo's name, in order. */
export const STAGES = {
  kinematics: {
    doc: "global frames of bodies, joints, geoms and sites (mj_kinematics)",
    reads: ["qpos", "mocap_pos", "mocap_quat"],
    writes: [...BODIES, "xanchor", "xaxis", ...GEOMS, ...SITES],
  },
  com_pos: {
    doc: "centres of mass of subtrees; inertias and motion axes about them (mj_comPos)",
    reads: ["xipos", "ximat", "xmat", "xanchor", "xaxis"],
    writes: ["subtree_com", "cinert", "cdof"],
  },
  camlight: {
    doc: "global frames of cameras (mj_camlight)",
    reads: [...BODIES, "subtree_com"],
    writes: CAMERAS,
  },
  tendon: {
    doc: "lengths, velocities and Jacobians of tendons (mj_tendon)",
    reads: [...JOINTS, ...GEOMS, "site_xpos", "cdof", "subtree_com"],
    writes: TENDONS,
  },
  crb: {
    doc: "the joint-space inertia matrix, by composite rigid bodies (mj_makeM)",
    reads: ["cinert", "cdof", "ten_J", "ximat", "xipos", "xanchor", "subtree_com"],
    writes: ["crb", "M"],
  },
  factor_m: { doc: "the LᵀDL factors of M (mj_factorM)", reads: ["M"], writes: FACTORS },
  collision: {
    doc: "contacts of pairs of geoms (mj_collision)",
    reads: [...GEOMS, "xpos", "xquat", "xmat"],
    writes: [],
  },
  transmission: {
    doc: "lengths, velocities and moment arms of actuators (mj_transmission)",
    reads: [...JOINTS, ...ARMS],
    writes: ["actuator_length", "actuator_velocity", "actuator_moment"],
  },
  com_vel: {
    doc: "spatial velocities of bodies, and rates of motion axes (mj_comVel)",
    reads: ["cdof", "qvel"],
    writes: ["cvel", "cdof_dot"],
  },
  passive: {
    doc: "springs, dampers, gravity compensation, fluid and adhesion forces (mj_passive)",
    reads: [...JOINTS, ...TENDONS, ...GEOMS, "xipos", "ximat", "subtree_com", "cdof", "cvel"],
    writes: ["qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_adhesion", "qfrc_passive"],
  },
  rne: {
    doc: "Coriolis, centrifugal and gravitational forces (mj_rne)",
    reads: [...MOTION, "cinert", "qvel", "site_xpos", "ten_J"],
    writes: ["qfrc_bias"],
  },
  actuation: {
    doc: "forces of actuators and rates of their activations (mj_fwdActuation)",
    reads: ["qpos", "ctrl", "history", "act", "actuator_length", "actuator_velocity", "qfrc_gravcomp", ...ARMS],
    writes: ["act_dot", "actuator_force", "qfrc_actuator"],
  },
  acceleration: {
    doc: "forces and accelerations without constraints (mj_fwdAcceleration)",
    reads: [
      "qfrc_passive",
      "qfrc_bias",
      "qfrc_actuator",
      "qfrc_applied",
      "xfrc_applied",
      "xipos",
      "subtree_com",
      "cdof",
      ...FACTORS,
      // the metric of the integrator discrete
      ...ARMS,
      ...GEOMS,
      ...JOINTS,
      "M",
      "cinert",
      "ximat",
      "xanchor",
      "cvel",
      "ten_velocity",
      "act",
      ...FORCES,
    ],
    writes: ["qfrc_smooth", "qacc_smooth"],
  },
  make_constraint: {
    doc: "rows of equalities, friction loss, limits and contacts (mj_makeConstraint)",
    // the factors for the flag diagexact
    reads: [...ROWS, ...FACTORS],
    writes: [],
  },
  solver: {
    doc: "accelerations and forces under constraints (mj_fwdConstraint)",
    reads: [
      ...ROWS,
      ...ARMS,
      "act",
      "cinert",
      // the own frames of light bodies
      "xipos",
      "ximat",
      "M",
      ...FACTORS,
      // the implicit terms of articulated bodies, which saturated actuators have none of
      ...FORCES,
      // and dampers of tendons
      "ten_velocity",
      "qfrc_smooth",
      "qacc_smooth",
      "qacc_warmstart",
    ],
    writes: ["qacc", "qfrc_constraint"],
    // articulated bodies solve for it in the turns of the solver
    sometimes: ["qacc_smooth"],
  },
  rne_post: {
    doc: "accelerations of bodies, and forces between them (mj_rnePostConstraint)",
    reads: [...ROWS, "cinert", "qacc", "xfrc_applied", "xipos", "ten_velocity", "actuator_force"],
    writes: ["cacc", "cfrc_ext", "cfrc_int"],
  },
  sensor: {
    doc: "readings of sensors (mj_sensorPos, mj_sensorVel, mj_sensorAcc)",
    reads: MEASURED,
    writes: ["sensordata"],
    // energies are kept for the sensors of the next evaluation
    sometimes: ["cacc", "cfrc_int", "cfrc_ext", "subtree_linvel", "subtree_angmom", "energy_vel"],
  },
  history: {
    doc: "samples of controls and sensors, kept for delays and intervals (mj_advance)",
    reads: [...MEASURED, "ctrl"],
    writes: ["history"],
    sometimes: ["cacc", "cfrc_int", "cfrc_ext", "subtree_linvel", "subtree_angmom"],
  },
  integrate: {
    doc: "the state one time step later (mj_Euler, mj_RungeKutta, mj_implicit, mj_discrete)",
    reads: [
      ...ARMS,
      "time",
      ...JOINTS,
      "act",
      ...FORCES,
      "qacc",
      "qfrc_smooth",
      "qfrc_constraint",
      "M",
      "xmat",
      "xipos",
      "ximat",
      ...GEOMS,
      "cvel",
      "cdof_dot",
      "cinert",
      "ten_velocity",
    ],
    writes: ["time", "qpos", "qvel", "act", "qacc_warmstart"],
  },
} as const satisfies Record<string, StageRow>;

export type StageName = keyof typeof STAGES;

/** The stages in order. */
export const STAGE_NAMES = Object.keys(STAGES) as StageName[];

interface Running {
  readonly name: StageName;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
}

let running: Running | undefined;

/**
 * Traces a stage: marks its start in the emitted code and holds it to the fields that it declares.
 * @throws CorralError undeclared-access if it touches another
 */
export function runStage<T>(name: StageName, trace: () => T): T {
  const { reads, writes, sometimes = [] }: StageRow = STAGES[name];
  const before = running;
  running = { name, reads: new Set([...reads, ...writes, ...sometimes]), writes: new Set([...writes, ...sometimes]) };
  try {
    return stage(name, trace);
  } finally {
    running = before;
  }
}

/** Told of each access to a field of the data. Between stages everything may be touched. */
export function assertDeclared(access: "reads" | "writes", field: string): void {
  if (running === undefined || running[access].has(field)) return;
  throw new CorralError(
    "undeclared-access",
    `stage ${running.name} ${access} ${field}, which its row in src/physics/stages.ts does not declare.`,
    { stage: running.name, access, field },
  );
}
