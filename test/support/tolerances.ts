/** Every tolerance of the tests: its name, its value, and the reason. */
interface Tolerance {
  readonly value: number;
  readonly reason: string;
}

/** Error bounds of `src/trace/math.ts` in float32, on every adapter, as its documentation promises. */
export const mathBounds = {
  sincosAbsolute: {
    value: 1.5e-7,
    reason: "|x| <= 1e4: two roundings of the reduction (3e-8 each), one of the result (6e-8)",
  },
  sincosFar: { value: 2e-6, reason: "|x| <= 1e5: k * PIO2_2 takes more than 24 bits there" },
  sincosSize: { value: 1.0001, reason: "|x| > 1e5: the reduced argument is clamped to 0.8, just past pi/4" },
  unitCircle: { value: 5e-7, reason: "sin^2 + cos^2 of two values with 1.5e-7 each" },
  expRelative: { value: 3e-7, reason: "the polynomial's sum and the product with 2^k, one rounding each" },
  logRelative: { value: 3e-7, reason: "cancellation of log(m) with e log(2) doubles one rounding" },
  powRelative: { value: 3e-7, reason: "that of exp, plus powPerExponent times |y log(x)|" },
  powPerExponent: { value: 2e-7, reason: "roundings of log(x) and of y log(x), which exp turns into relative errors" },
  atan2Absolute: { value: 4e-7, reason: "a quotient (2.5 ulp in WGSL), and the rounding of results near pi (1.2e-7)" },
  acosAbsolute: { value: 5e-7, reason: "results near pi are rounded by 1.2e-7; a square root of WGSL is off by 2 ulp" },
  acosRelativeNearOne: { value: 5e-7, reason: "acos(x) = 2 asin(sqrt((1 - x)/2)), and 1 - x is exact" },
  asinAbsolute: { value: 3e-7, reason: "pi/2 minus twice a value of 1 ulp" },
  asinRelativeNearZero: { value: 3e-7, reason: "the polynomial's remainder and one rounding" },
  tanhRelative: { value: 3e-7, reason: "1 - 2/(e + 1) cancels by a factor 2 at 0.625" },
  polynomial64: { value: 6e-9, reason: "the largest remainder of a polynomial, seen where float64 adds no rounding" },
  wide: {
    value: 1e-14,
    reason: "some units of float64's last place; tanh near 0.03 loses 30 of them to a difference with 1",
  },
  normalAbsolute: { value: 3e-6, reason: "a radius up to 5.8 times the errors of log, sqrt, sin and cos" },
} as const satisfies Record<string, Tolerance>;

/** Agreement of the tracer's back ends with each other. */
export const traceBounds = {
  rounding32: {
    value: 1e-5,
    reason: "relative: up to 31 operations without cancellation, up to 2.5 ulp each in WGSL, contracted or not",
  },
  rounding64: { value: 1e-14, reason: "relative: the same in float64, where x / c is x * (1 / c)" },
} as const satisfies Record<string, Tolerance>;

/** Contacts of the colliders against MuJoCo's. */
export const colliderBounds = {
  exact: { value: 1e-10, reason: "float64, dist, pos (m) and frame: offsets of 1e-4 m lose four of sixteen digits" },
  searched: {
    value: 2e-5,
    reason: "MuJoCo's search ends at 1e-12 m of distance, 1e-6 m along a surface of radius 0.3 m",
  },
  exactMargin: { value: 1e-9, reason: "m from the margin: there rounding decides whether a contact exists" },
  single: { value: 1e-6, reason: "float32, at a metre from the origin: ten roundings of 6e-8" },
  singleMargin: { value: 1e-6, reason: "m from the margin, as single" },
  searchNudge: {
    value: 1e-6,
    reason: "change of a pose (m, rad) that moves the nearest points as far as the search may",
  },
  exactNudge: { value: 1e-8, reason: "change of a pose (m, rad) across MuJoCo's own ties and its rounding near them" },
  singleNudge: { value: 2e-6, reason: "change of a pose (m, rad) that float32 cannot tell from none" },
} as const satisfies Record<string, Tolerance>;

/** Entries of M against MuJoCo's, beside the root of the product of their dofs' own inertias. */
export const massBounds = {
  f64: { value: 1e-11, reason: "float64: MuJoCo's own sums cancel, of terms up to 1e4 times what is left of them" },
  f32: {
    value: 3e-5,
    reason: "float32: places a metre from the origin are known to 1e-7 m, and centres lie 1 cm from their joint",
  },
} as const satisfies Record<string, Tolerance>;

/** Solutions with the Cholesky factor in tiles against dense elimination: matrices with 0.1 more on the diagonal than beside it. */
export const factorBounds = {
  exact: { value: 1e-12, reason: "float64: solutions up to 10, and a condition of some hundreds" },
  single: { value: 1e-4, reason: "float32: the same, 6e-8 times the condition" },
} as const satisfies Record<string, Tolerance>;

/** PGS and noslip against MuJoCo's after the same iterations: max |x - ref| / (1 + max |ref|). */
export const dualBounds = {
  exact: { value: 1e-9, reason: "float64: sums in another order, over 19 sweeps that each add their rounding" },
  afterCG: { value: 1e-7, reason: "float64: noslip starts where CG ends, some 1e-8 from its minimum" },
  single: { value: 2e-4, reason: "float32: residuals are differences of accelerations a thousand times their size" },
} as const satisfies Record<string, Tolerance>;

/** Rays against MuJoCo's. */
export const rayBounds = {
  exact: { value: 1e-9, reason: "float64: thin shapes lose five of sixteen digits, normals of small ones two more" },
  single: { value: 5e-5, reason: "float32 at two metres: at a radius of 0.02 m 2e-7 m along it turn a normal by 1e-5" },
  exactNudge: {
    value: 1e-9,
    reason: "change of a ray across an edge, or where it grazes, that float64 may take for none",
  },
  singleNudge: { value: 1e-6, reason: "the same for float32, at two metres" },
} as const satisfies Record<string, Tolerance>;

/** The collider of convex shapes in float32 against MuJoCo's search in float64, run to its end. */
export const convexBounds = {
  distance99: {
    value: 1e-5,
    reason: "of the sum of the bounding radii, 99 of 100 poses: where the search itself ends",
  },
  distance: { value: 1e-3, reason: "of the same, any pose: a second direction of nearly the same overlap" },
  excess: { value: 1e-3, reason: "of the same: overlap along our normal beyond the least one known, as distance" },
  normal99: { value: 3e-3, reason: "rad, 99 of 100: an overlap that is flat to 1e-7 of the size leaves sqrt of that" },
  touching: {
    value: 2e-6,
    reason: "of the size: nearer to the margin than this, rounding says whether there is contact",
  },
  tie: { value: 0.05, reason: "rad: normals farther apart with overlaps equal to `touching` are two of one depth" },
  counted: {
    value: 0.97,
    reason: "share of poses whose count is MuJoCo's: a side of a cylinder on a cap hangs on its path",
  },
  capped: {
    value: 0.87,
    reason: "share of poses with all contacts in place: of a whole cap four corners of sixteen tie, and rounding picks",
  },
  edged: {
    value: 0.99,
    reason: "share of poses with all contacts in place: a corner level with another to 1e-7 makes an edge of it",
  },
  placed: {
    value: 2e-4,
    reason: "of the size: where faces meet at an angle; on rims a depth of 1e-8 is 1e-4 along them",
  },
  tilted: {
    value: 0.09,
    reason: "of the size: faces meet at up to acos(0.996), so that corners differ in depth by its sine",
  },
  facing99: {
    value: 3e-3,
    reason: "of the size, across the normal, between points that should face each other: as normal99",
  },
} as const satisfies Record<string, Tolerance>;

/** A light body with fins against MuJoCo. */
export const finBounds = {
  qacc: {
    value: 3e-5,
    reason: "of 1 and the largest: M about own centres leaves 1.9e-5 in 480 steps, about the tree's centre 8.5e-5",
  },
} as const satisfies Record<string, Tolerance>;

/** Places of contacts against MuJoCo's, of shapes of 2 cm. */
export const touchBounds = {
  round: {
    value: 1e-6,
    reason: "m: a place follows from the face's own normal, and no longer from a depth of 1e-9, whose root is 6e-6",
  },
} as const satisfies Record<string, Tolerance>;

/** Contacts of fine hulls deep in each other. */
export const deepHullBounds = {
  place: { value: 1e-5, reason: "m: a ten-thousandth of hulls of 10 cm" },
  normal: { value: 1e-3, reason: "of a unit vector" },
  same: {
    value: 0.99,
    reason: "share of poses with all contacts as MuJoCo has them: corners may tie to float32's last place",
  },
} as const satisfies Record<string, Tolerance>;

/** Hulls with a margin that lie flat on each other: counts of their contacts, and steps (qvel, rad/s). */
export const flatHullBounds = {
  apart: { value: 0.9, reason: "share: whether a corner or a place between ends the search hangs on its path" },
  float64: { value: 1e-9, reason: "the path is MuJoCo's" },
  float32: { value: 1e-4, reason: "from where on a step counts as off" },
  resting: {
    value: 0.7,
    reason: "share: corners of sixteen sides that are level but for 1e-9 m float32 takes in another order",
  },
  counted: { value: 0.99, reason: "share: whether a turn finds another place hangs on where the first one is" },
} as const satisfies Record<string, Tolerance>;

/** Contacts of shapes of 3 cm with a margin, at MuJoCo's default tolerance. */
export const marginBounds = {
  place: { value: 1e-5, reason: "m: MuJoCo's own search leaves 1e-6 of depth" },
  counted: { value: 0.98, reason: "share: whether a turn finds another place hangs on where the first one is" },
  placed64: { value: 0.99, reason: "share: corners that tie to float64's last place" },
  placed32: { value: 0.85, reason: "share: corners that are level but for what float32 tells" },
} as const satisfies Record<string, Tolerance>;

/** Searches of round shapes in float64, beside MuJoCo's at a `ccd_tolerance` of 1e-12. */
export const float64SearchBounds = {
  depth90: { value: 1e-11, reason: "m, 90 of 100 depths of a body of 3 cm: MuJoCo's own tolerance, and some more" },
} as const satisfies Record<string, Tolerance>;

/** Contacts with height fields against MuJoCo's, relative to the bounding radius of the shape on the field. */
export const fieldBounds = {
  distance99: {
    value: 3e-5,
    reason: "99 of 100: fields are up to 50 such radii from the origin, and float32 places them to 6e-8 of that",
  },
  counted: {
    value: 0.98,
    reason: "share of poses whose count is MuJoCo's: prisms that a shape touches with its edge hang on rounding",
  },
  searched: {
    value: 1e-6,
    reason: "a margin with which MuJoCo searches boxes and meshes to the end: of the size less than `touching`",
  },
  ridge: {
    value: 5e-3,
    reason: "m: MuJoCo ends its search of an ellipsoid of 0.3 m at ccd_tolerance, which moves its place by a few mm",
  },
  still: { value: 1e-3, reason: "m/s or rad/s at rest: soft contacts leave creep of this order in MuJoCo too" },
  crept: { value: 2e-5, reason: "m or rad beyond MuJoCo's own creep (2e-3) in 1,000 steps at rest: a hundredth of it" },
  rested: {
    value: 2e-4,
    reason: "m or rad after 10,000 steps: feet that settle slide on slopes, so that roundings of the fall remain",
  },
} as const satisfies Record<string, Tolerance>;

/** What rests or is held, in float32, after up to 10,000 steps beside MuJoCo. */
export const restBounds = {
  moved: {
    value: 1,
    reason:
      "of the farthest that MuJoCo itself has moved since the start: stacks of meshes walk by 3e-3 there, grips creep",
  },
  rounded: {
    value: 2 ** -25,
    reason: "of a coordinate, each step: half of float32's last place, which creep of 1e-7 a step is rounded to",
  },
  deepest: {
    value: 0.1,
    reason: "share of MuJoCo's: a stack jitters in its penetration by half of that, in MuJoCo too",
  },
  energy: { value: 2e-4, reason: "share of the potential energy: a stack of 3 kg lies higher or lower by 1.4e-5 m" },
} as const satisfies Record<string, Tolerance>;

/** Stages against MuJoCo's, given MuJoCo's own inputs: max |x - ref| / (1 + max |ref|) over a field. */
export const stageBounds = {
  any64: { value: 1e-11, reason: "float64 in other orders of summation; solves lose the condition of M, up to 1e5" },
  any32: { value: 2e-6, reason: "float32: the inputs' rounding (6e-8) and some ten roundings" },
  integrate32: {
    value: 1e-5,
    reason: "float32: the implicit solve multiplies roundings by the condition of M - h dF/dv",
  },
  factor_m32: { value: 1e-5, reason: "float32: the condition of M multiplies roundings" },
  acceleration32: { value: 5e-5, reason: "float32: as factor_m32, with accelerations of thousands" },
  make_constraint32: {
    value: 1e-4,
    reason: "float32: aref is the sum of a velocity and a depth (1e-8 m) times stiffness (1e3 to 1e4 / s²)",
  },
  aref32: {
    value: 5e-4,
    reason:
      "float32: depths are differences of global points, known to 2e-7 m a metre from the origin, times 1e3 to 1e4 / s²",
  },
  equality32: {
    value: 5e-4,
    reason: "float32: anchors are global points, known to 2e-7 m at a metre from the origin, times that stiffness",
  },
  forward_smooth64: { value: 1e-11, reason: "as any64" },
  forward_smooth32: {
    value: 1e-4,
    reason: "float32: as acceleration32, on inputs that are off by ten roundings themselves",
  },
  forward64: { value: 1e-7, reason: "as solver64" },
  forward32: { value: 1e-4, reason: "as solver32" },
  step64: { value: 1e-7, reason: "as solver64" },
  solver64: { value: 1e-7, reason: "a cost known to 1e-16 places its minimum to 1e-8" },
  solver32: { value: 1e-4, reason: "float32: aref as in make_constraint32, and forces of 1e4 N on arms of 1e-8 m" },
  margin64: { value: 1e-9, reason: "m or rad from a margin: there rounding decides whether a row exists" },
  margin32: { value: 1e-6, reason: "as margin64, for float32 at a metre from the origin" },
  impedance64: { value: 1e-9, reason: "relative: a power of a depth that is known to 1e-13 m" },
  impedance32: { value: 1e-4, reason: "relative: depths are known to 1e-7 m, widths are about 1e-3 m" },
} as const satisfies Record<string, Tolerance>;

/** qvel of one tree of a world, in the measure max |x - ref| / (1 + max |ref|). */
export const EACH_TREE = {
  alone: {
    value: 2e-4,
    reason: "float32: CG may end at another point of its noise (1.5e-4 in 60 models), Newton within 2e-5",
  },
  mujoco: { value: 1e-3, reason: "float32: ONE_STEP_BOUNDS.qvelMax, for depths of 1e-8 m against stiff contacts" },
} as const satisfies Record<string, Tolerance>;

/** Control steps of environments against recorded ones, in the measure max |x - ref| / (1 + max |ref|). */
export const envBounds = {
  dmControl: {
    value: 1e-5,
    reason:
      "one control step of dm_control, its observation and reward, relative to 1 and the largest: float32 rounds both",
  },
  dmControlChains: {
    value: 1e-3,
    reason:
      "float32: state and observation of swimmers, humanoid and manipulator; links of 10 g with an armature of 1e-6 kg m², and digits of 5 g between stiff contacts, have accelerations of 1e4 rad/s², whose rounding 10 to 15 steps sum. Their rewards keep to dmControl, and float64 to qvel64",
  },
  qpos: { value: 1e-5, reason: "float32: some twenty evaluations, each with stiff contacts" },
  qvel: { value: 1e-3, reason: "float32, as qpos; also for observations, which contain contact forces" },
  qvel99: { value: 1e-4, reason: "float32: 99 of 100 steps, of those that MuJoCo's own sensitivity leaves decided" },
  reward: { value: 1e-4, reason: "float32: a difference of positions (1e-6) divided by a control step (0.008 s)" },
  sensitivity: {
    value: 4,
    reason: "where MuJoCo answers to 1e-7 with more than the bound: its largest answer of four trials is no maximum",
  },
  leftover: {
    value: 2,
    reason:
      "where MuJoCo stops short of the solution (PGS, the convex collider): how far; terms of a reward may weigh it more than the sum",
  },
  qpos64: { value: 2e-7, reason: "float64: Newton iterations end at the tolerance, 1e-8" },
  qvel64: { value: 2e-5, reason: "float64, as qpos64: starting cold instead of warm changes this much in MuJoCo" },
  reward64: { value: 1e-6, reason: "Gymnasium takes the control cost of float32 actions in float32" },
  derived: { value: 1e-9, reason: "relative, float64: sums in another order than MuJoCo's" },
  randomised: { value: 1e-5, reason: "float64: 50 physics steps, each to the solver's tolerance as in qvel64" },
  drawnPath: { value: 1e-3, reason: "float32: 24 physics steps with contacts, each from where the last one ended" },
  cartpole: { value: 1e-6, reason: "float32: one step of two bodies" },
} as const satisfies Record<string, Tolerance>;

/** The learner's kernels against float64. */
export const learnerBounds = {
  gradient: {
    value: 2e-5,
    reason: "relative to the largest entry: sums over 66 samples and three layers in float32, tanh to 4e-7",
  },
  advantages: { value: 1e-5, reason: "absolute: 11 steps of numbers up to 3, each rounded to 1e-7, scaled by up to 2" },
  squash: { value: 3e-6, reason: "absolute: tanh to 4e-7, times a range of 6" },
  logProb: { value: 1e-5, reason: "absolute: up to 15, a square of a quotient of float32" },
  updates: {
    value: 2e-5,
    reason:
      "absolute: 20 steps of Adam of 1e-3, each a quotient of sums over 34 samples, of which the first few are small",
  },
  adam: {
    value: 2e-6,
    reason: "absolute: 5 steps of 0.05, each a quotient of two roots and powers of the decays in float32",
  },
} as const satisfies Record<string, Tolerance>;

/** Growth of a process's memory over a hundred constructions, as a part of what it was. */
export const memoryGrowth: Tolerance = {
  value: 0.01,
  reason: "compilers and pools take some hundred kilobytes now and then; leaked batches of 4,000 worlds would be 20 %",
};

/** Exported policies against the kernels that were trained. */
export const exportBounds = {
  action: {
    value: 2e-5,
    reason: "relative to the action, or to 1: other orders of sums over a hundred terms, another tanh in each layer",
  },
} as const satisfies Record<string, Tolerance>;

/** Ways of single features beside MuJoCo in float64. */
export const featureBounds = {
  path: { value: 1e-3, reason: "float32: 20 steps with contacts, each from where the last one ended, as drawnPath" },
  geometry: { value: 1e-5, reason: "float32: inertias and motion axes, ten roundings each" },
  wideStep: {
    value: 1e-5,
    reason: "one step in float64 from and to records in float32; beside 1 of light links that contacts stop",
  },
} as const satisfies Record<string, Tolerance>;

/** What a viewer picks against MuJoCo's rays. */
export const pickBounds = {
  distance: { value: 1e-4, reason: "poses in float32 at five metres, and surfaces that a ray grazes" },
} as const satisfies Record<string, Tolerance>;

/** Pictures against pictures: mean distance of a channel, of 255. */
export const pictureBounds = {
  kept: { value: 1, reason: "drivers round at edges; a light, a texture or a body that is missing gives 2 and more" },
  page: {
    value: 2.5,
    reason: "a browser has a SwiftShader of its own, and shows pictures through its compositor: outlines differ",
  },
  site: { value: 0.01, reason: "pixels: poses that are drawn are float32, 1e-7 of some metres, at 200 pixels a metre" },
  detail: { value: 1.5, reason: "coarser shapes differ at outlines and in shading; a world that is elsewhere gives 5" },
} as const satisfies Record<string, Tolerance>;

/** Growth of a page's heap over 200 pictures: bytes, the least of some collections. */
export const pageGrowth: Tolerance = {
  value: 1_000_000,
  reason:
    "over ten minutes a heap of 3 MB breathes by 0.7 MB and comes back; what is kept of each picture, 5 kB or more, adds up",
};

/** Where a world on terrain is drawn (m). */
export const drawnPlace: Tolerance = {
  value: 1e-3,
  reason: "float32 of places within 64 m is 4e-6; a contact lies in the middle of how deep a ball is in its ground",
};

export const gaitPlace: Tolerance = {
  value: 1e-3,
  reason: "lengths of legs are written to a micrometre (m), and the public G1's hips and feet differ by up to 0.2 mm",
};

export const gaitTilt: Tolerance = {
  value: 0.05,
  reason: "a quarter of the slope (rad) that it stands on: servos that hold its weight give way by 0.03 rad at most",
};

export const cylinderPlaces = {
  apart: { value: 1e-5, reason: "m: ten times ccd_tolerance" },
  share: { value: 0.95, reason: "poses with MuJoCo's contacts: in a fiftieth rounding picks the way of its search" },
} satisfies Record<string, Tolerance>;
export const hullPaths: Tolerance = { value: 0.99, reason: "poses with MuJoCo's contacts: in others corners tie" };
export const capsOnCorners: Tolerance = { value: 0.75, reason: "poses with MuJoCo's contacts: others hang on a rim" };
export const keptFour: Tolerance = { value: 0.4, reason: "poses with MuJoCo's contacts: of equal areas float64 picks" };
