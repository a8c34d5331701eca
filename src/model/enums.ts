// MuJoCo's enums, by its names; a test compares them with the package's own

export const mjtJoint = { FREE: 0, BALL: 1, SLIDE: 2, HINGE: 3 } as const;
export const mjtGeom = {
  PLANE: 0,
  HFIELD: 1,
  SPHERE: 2,
  CAPSULE: 3,
  ELLIPSOID: 4,
  CYLINDER: 5,
  BOX: 6,
  MESH: 7,
  SDF: 8,
} as const;
export const mjtIntegrator = { EULER: 0, RK4: 1, IMPLICIT: 2, IMPLICITFAST: 3, DISCRETE: 4 } as const;
export const mjtCone = { PYRAMIDAL: 0, ELLIPTIC: 1 } as const;
export const mjtJacobian = { DENSE: 0, SPARSE: 1, AUTO: 2 } as const;
export const mjtSolver = { PGS: 0, CG: 1, NEWTON: 2 } as const;
export const mjtEq = {
  CONNECT: 0,
  WELD: 1,
  JOINT: 2,
  TENDON: 3,
  FLEX: 4,
  FLEXVERT: 5,
  FLEXSTRAIN: 6,
  DISTANCE: 7,
} as const;
export const mjtWrap = { NONE: 0, JOINT: 1, PULLEY: 2, SITE: 3, SPHERE: 4, CYLINDER: 5 } as const;
export const mjtTrn = {
  JOINT: 0,
  JOINTINPARENT: 1,
  SLIDERCRANK: 2,
  TENDON: 3,
  SITE: 4,
  BODY: 5,
  SO3: 6,
} as const;
export const mjtDyn = {
  NONE: 0,
  INTEGRATOR: 1,
  FILTER: 2,
  FILTEREXACT: 3,
  MUSCLE: 4,
  DCMOTOR: 5,
  PID: 6,
  USER: 7,
} as const;
export const mjtGain = {
  FIXED: 0,
  AFFINE: 1,
  MUSCLE: 2,
  DCMOTOR: 3,
  SO3: 4,
  PID: 5,
  USER: 6,
} as const;
export const mjtBias = { NONE: 0, AFFINE: 1, MUSCLE: 2, DCMOTOR: 3, SO3: 4, USER: 5 } as const;
export const mjtObj = {
  UNKNOWN: 0,
  BODY: 1,
  XBODY: 2,
  JOINT: 3,
  DOF: 4,
  GEOM: 5,
  SITE: 6,
  CAMERA: 7,
  LIGHT: 8,
  FLEX: 9,
  MESH: 10,
  SKIN: 11,
  HFIELD: 12,
  TEXTURE: 13,
  MATERIAL: 14,
  PAIR: 15,
  EXCLUDE: 16,
  EQUALITY: 17,
  TENDON: 18,
  ACTUATOR: 19,
  SENSOR: 20,
  NUMERIC: 21,
  TEXT: 22,
  TUPLE: 23,
  KEY: 24,
  PLUGIN: 25,
} as const;
export const mjtSensor = {
  TOUCH: 0,
  ACCELEROMETER: 1,
  VELOCIMETER: 2,
  GYRO: 3,
  FORCE: 4,
  TORQUE: 5,
  MAGNETOMETER: 6,
  RANGEFINDER: 7,
  CAMPROJECTION: 8,
  JOINTPOS: 9,
  JOINTVEL: 10,
  TENDONPOS: 11,
  TENDONVEL: 12,
  ACTUATORPOS: 13,
  ACTUATORVEL: 14,
  ACTUATORFRC: 15,
  JOINTACTFRC: 16,
  TENDONACTFRC: 17,
  BALLQUAT: 18,
  BALLANGVEL: 19,
  JOINTLIMITPOS: 20,
  JOINTLIMITVEL: 21,
  JOINTLIMITFRC: 22,
  TENDONLIMITPOS: 23,
  TENDONLIMITVEL: 24,
  TENDONLIMITFRC: 25,
  FRAMEPOS: 26,
  FRAMEQUAT: 27,
  FRAMEXAXIS: 28,
  FRAMEYAXIS: 29,
  FRAMEZAXIS: 30,
  FRAMELINVEL: 31,
  FRAMEANGVEL: 32,
  FRAMELINACC: 33,
  FRAMEANGACC: 34,
  SUBTREECOM: 35,
  SUBTREELINVEL: 36,
  SUBTREEANGMOM: 37,
  INSIDESITE: 38,
  GEOMDIST: 39,
  GEOMNORMAL: 40,
  GEOMFROMTO: 41,
  CONTACT: 42,
  E_POTENTIAL: 43,
  E_KINETIC: 44,
  CLOCK: 45,
  TACTILE: 46,
  PLUGIN: 47,
  USER: 48,
} as const;
export const mjtRayDataField = { DIST: 0, DIR: 1, ORIGIN: 2, POINT: 3, NORMAL: 4, DEPTH: 5 } as const;
export const mjtProjection = { PERSPECTIVE: 0, ORTHOGRAPHIC: 1 } as const;
export const mjtDataType = { REAL: 0, POSITIVE: 1, AXIS: 2, QUATERNION: 3 } as const;
export const mjtStage = { NONE: 0, POS: 1, VEL: 2, ACC: 3 } as const;
export const mjtSameFrame = { NONE: 0, BODY: 1, INERTIA: 2, BODYROT: 3, INERTIAROT: 4 } as const;
export const mjtCamLight = {
  FIXED: 0,
  TRACK: 1,
  TRACKCOM: 2,
  TARGETBODY: 3,
  TARGETBODYCOM: 4,
} as const;
export const mjtDisableBit = {
  CONSTRAINT: 1 << 0,
  EQUALITY: 1 << 1,
  FRICTIONLOSS: 1 << 2,
  LIMIT: 1 << 3,
  CONTACT: 1 << 4,
  SPRING: 1 << 5,
  DAMPER: 1 << 6,
  GRAVITY: 1 << 7,
  CLAMPCTRL: 1 << 8,
  WARMSTART: 1 << 9,
  FILTERPARENT: 1 << 10,
  ACTUATION: 1 << 11,
  REFSAFE: 1 << 12,
  SENSOR: 1 << 13,
  MIDPHASE: 1 << 14,
  EULERDAMP: 1 << 15,
  AUTORESET: 1 << 16,
  NATIVECCD: 1 << 17,
  ISLAND: 1 << 18,
  MULTICCD: 1 << 19,
} as const;
export const mjtEnableBit = {
  OVERRIDE: 1 << 0,
  ENERGY: 1 << 1,
  FWDINV: 1 << 2,
  INVDISCRETE: 1 << 3,
  SLEEP: 1 << 4,
  DIAGEXACT: 1 << 5,
  IPC: 1 << 6,
} as const;
export const mjtConstraint = {
  EQUALITY: 0,
  FRICTION_DOF: 1,
  FRICTION_TENDON: 2,
  LIMIT_JOINT: 3,
  LIMIT_TENDON: 4,
  CONTACT_FRICTIONLESS: 5,
  CONTACT_PYRAMIDAL: 6,
  CONTACT_ELLIPTIC: 7,
} as const;
export const mjtState = {
  TIME: 1 << 0,
  QPOS: 1 << 1,
  QVEL: 1 << 2,
  ACT: 1 << 3,
  HISTORY: 1 << 4,
  WARMSTART: 1 << 5,
  CTRL: 1 << 6,
  QFRC_APPLIED: 1 << 7,
  XFRC_APPLIED: 1 << 8,
  EQ_ACTIVE: 1 << 9,
  MOCAP_POS: 1 << 10,
  MOCAP_QUAT: 1 << 11,
  USERDATA: 1 << 12,
  PLUGIN: 1 << 13,
} as const;

/** The name of an enum's value, "value 7" if it has none. */
export function enumName(values: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(values).find((k) => values[k] === value) ?? `value ${value}`;
}

// numbers of mjmodel.h and mjtype.h
export const mjMINVAL = 1e-15;
export const mjMAXVAL = 1e10;
export const mjMINMU = 1e-5;
export const mjMINIMP = 0.0001;
export const mjMAXIMP = 0.9999;
