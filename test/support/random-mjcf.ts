// random models that use only what is supported, from a seed (as MJX's create_mjcf)
import { createRandom, type Random } from "./mjcf-random.ts";
import { contactPairs, equalities, fixedTendons, spatialTendons } from "./random-constraints.ts";
import { angles, attributes, axis, list, solver, text, type Made, type MjcfOptions } from "./random-parts.ts";

export type { MjcfOptions } from "./random-parts.ts";

function joint(made: Made, type: string, alone = true): string {
  const r = made.random;
  const name = `j${made.joints.length}`;
  const limited = type !== "free" && made.allow.limits && r.chance(0.5);
  // joints that share a body may turn about the same axis: only armature keeps M regular
  const heavy = type !== "free" && (!alone || r.chance(0.7));
  made.joints.push({ name, type, limited, heavy });

  const out: Record<string, string> = { name, type };
  // a light body takes little damping before an explicit integrator blows up
  out.damping = text(heavy ? r.between(0.05, 0.6) : r.pick([0, r.between(0.002, 0.02)]));
  if (heavy) out.armature = text(r.between(0.02, 0.1));
  if (type === "slide" || type === "hinge") out.axis = axis(r);
  if (type !== "free" && r.chance(0.4))
    out.pos = list(r.between(-0.05, 0.05), r.between(-0.05, 0.05), r.between(-0.05, 0.05));
  if (type !== "free" && r.chance(0.3)) {
    out.stiffness = text(r.between(1, 10));
    if (type === "hinge") out.springref = text(r.between(-20, 20));
    if (type === "slide") out.springref = text(r.between(-0.1, 0.1));
  }
  if (type !== "free" && made.allow.frictionloss && r.chance(0.25)) out.frictionloss = text(r.between(0.02, 0.3));
  let extra = out.frictionloss ? solver(r, "friction") : "";
  if (limited) {
    out.limited = "true";
    const reach = type === "slide" ? [0.02, 0.3] : [5, 60];
    out.range =
      type === "ball" ? list(0, r.between(5, 60)) : list(-r.between(reach[0], reach[1]), r.between(reach[0], reach[1]));
    if (r.chance(0.3)) out.margin = text(type === "slide" ? r.between(0, 0.02) : r.between(0, 2));
    extra += solver(r, "limit");
  }
  if ((type === "hinge" || type === "slide") && r.chance(0.15))
    out.actuatorfrcrange = list(-r.between(0.2, 2), r.between(0.2, 2));
  return `<joint${attributes(out)}${extra}/>`;
}

function geom(made: Made, type: string): string {
  const r = made.random;
  const name = `g${made.geoms.length}`;
  made.geoms.push(name);
  if (type === "sphere") made.rounds.push(name);

  const out: Record<string, string> = { name, type };
  const small = () => r.between(0.08, 0.14);
  out.size =
    type === "sphere"
      ? list(small())
      : type === "capsule"
        ? list(small(), r.between(0.05, 0.2))
        : list(small(), small(), small());
  out.pos = list(r.between(-0.05, 0.05), r.between(-0.05, 0.05), r.between(-0.05, 0.05));
  if (r.chance(0.7)) out.euler = angles(r, 90);
  out.density = text(r.between(500, 1500));
  if (!made.allow.contacts || r.chance(0.1)) Object.assign(out, { contype: "0", conaffinity: "0" });
  else Object.assign(out, { contype: "3", conaffinity: "3" });
  if (r.chance(0.6)) out.condim = r.pick(["1", "3", "4", "6"]);
  if (r.chance(0.5)) out.friction = list(r.between(0.1, 1.5), r.between(0.001, 0.05), r.between(0.0005, 0.01));
  if (r.chance(0.2)) out.priority = r.pick(["-1", "1"]);
  if (r.chance(0.2)) out.solmix = text(r.between(0.1, 3));
  if (r.chance(0.3)) out.margin = text(r.between(0, 0.01));
  if (r.chance(0.2)) out.gap = text(r.between(0, 0.01));
  return `<geom${attributes(out)}${solver(r, "")}/>`;
}

function body(made: Made, depth: number, isRoot: boolean): string {
  const r = made.random;
  const name = `b${made.bodies++}`;
  made.names.push(name);
  const parts: string[] = [];

  const kind = isRoot
    ? r.pick(["free", "free", "joints", "joints", "weld"])
    : r.pick(["joints", "joints", "joints", "joints", "weld"]);
  if (kind === "free") parts.push(joint(made, "free"));
  if (kind === "joints") {
    const ball = r.chance(0.25);
    const count = r.pick([1, 1, 1, 2, 3]);
    for (let i = 0; i < count; i++)
      parts.push(joint(made, ball && i === count - 1 ? "ball" : r.pick(["hinge", "hinge", "slide"]), count === 1));
  }

  const count = r.pick([1, 1, 1, 2]);
  for (let i = 0; i < count; i++) parts.push(geom(made, r.pick(["sphere", "capsule", "capsule", "box"])));
  if (r.chance(0.15)) {
    const moments = list(r.between(0.02, 0.03), r.between(0.02, 0.03), r.between(0.02, 0.03));
    parts.push(
      `<inertial mass="${text(r.between(1, 3))}" pos="${angles(r, 0.05)}" euler="${angles(r, 60)}" diaginertia="${moments}"/>`,
    );
  }
  if (r.chance(0.5)) {
    const site = `s${made.sites.length}`;
    made.sites.push(site);
    parts.push(`<site name="${site}" pos="${angles(r, 0.1)}" euler="${angles(r, 90)}" size="0.15"/>`);
  }
  if (depth > 0) while (made.bodies < made.allow.bodies && r.chance(0.6)) parts.push(body(made, depth - 1, false));

  const out: Record<string, string> = { name };
  out.pos = isRoot
    ? list(r.between(-0.6, 0.6), r.between(-0.6, 0.6), r.between(0.3, 1))
    : list(r.pick([-1, 1]) * r.between(0.15, 0.3), r.pick([-1, 1]) * r.between(0.1, 0.3), r.between(-0.2, 0.2));
  if (r.chance(0.7)) out.euler = angles(r, 60);
  if (r.chance(0.15)) out.gravcomp = text(r.between(0, 1.2));
  return `<body${attributes(out)}>\n${parts.join("\n")}\n</body>`;
}

function actuator(made: Made, index: number, tendons: number): string {
  const r = made.random;
  const at = r.pick(made.joints);
  const out: Record<string, string> = { name: `a${index}` };
  if (tendons > 0 && r.chance(0.3)) out.tendon = `t${r.whole(0, tendons - 1)}`;
  else out[r.chance(0.2) ? "jointinparent" : "joint"] = at.name;
  const wide = !out.tendon && (at.type === "free" || at.type === "ball");
  // light bodies get weak motors
  const strength = at.heavy ? 1 : 0.1;
  out.gear = wide
    ? `${angles(r, at.type === "free" ? 1 : strength)} ${angles(r, 0.1)}`
    : text(r.pick([-1, 1]) * strength * r.between(0.3, 2));
  if (r.chance(0.5)) out.ctrlrange = list(-r.between(0.2, 1), r.between(0.2, 1));
  if (r.chance(0.3)) out.forcerange = list(-r.between(0.2, 2), r.between(0.2, 2));

  // feedback on next to no inertia blows up
  const calm = at.heavy && !out.tendon;
  const kind = calm ? r.pick(["motor", "position", "velocity", "general", "general"]) : "motor";
  if (kind === "position") Object.assign(out, { kp: text(r.between(0.5, 8)), kv: text(r.between(0, 0.4)) });
  if (kind === "velocity") out.kv = text(r.between(0.05, 0.5));
  if (kind === "general") {
    out.dyntype = r.pick(["none", "integrator", "filter", "filterexact"]);
    out.dynprm = text(r.between(0.03, 0.2));
    out.gaintype = r.pick(["fixed", "affine"]);
    out.gainprm = list(r.between(0.5, 3), r.between(-0.3, 0.3), r.between(-0.1, 0));
    out.biastype = r.pick(["none", "affine"]);
    out.biasprm = list(r.between(-0.2, 0.2), r.between(-2, 0), r.between(-0.3, 0));
    if (out.dyntype !== "none" && r.chance(0.4))
      Object.assign(out, { actlimited: "true", actrange: list(-r.between(0.2, 1), r.between(0.2, 1)) });
    if (out.dyntype !== "none" && r.chance(0.3)) out.actearly = "true";
  }
  return `<${kind}${attributes(out)}/>`;
}

function sensor(made: Made, actuators: number): string | undefined {
  const r = made.random;
  const scalar = made.joints.filter((j) => j.type === "hinge" || j.type === "slide");
  const balls = made.joints.filter((j) => j.type === "ball");
  const limits = made.joints.filter((j) => j.limited);
  const frame = (): [string, string] =>
    r.pick([
      ["body", r.pick(made.names)],
      ["xbody", r.pick(made.names)],
      ["geom", r.pick(made.geoms)],
      ...made.sites.map((s): [string, string] => ["site", s]),
    ]);

  const kind = r.pick([
    "joint",
    "joint",
    "ball",
    "limit",
    "actuator",
    "site",
    "site",
    "frame",
    "frame",
    "frame",
    "subtree",
    "clock",
  ]);
  const cutoff = r.chance(0.1) ? ` cutoff="${text(r.between(0.1, 2))}"` : "";
  if (kind === "joint" && scalar.length)
    return `<${r.pick(["jointpos", "jointvel", "jointactuatorfrc"])} joint="${r.pick(scalar).name}"${cutoff}/>`;
  if (kind === "ball" && balls.length) return `<${r.pick(["ballquat", "ballangvel"])} joint="${r.pick(balls).name}"/>`;
  if (kind === "limit" && limits.length)
    return `<${r.pick(["jointlimitpos", "jointlimitvel", "jointlimitfrc"])} joint="${r.pick(limits).name}"/>`;
  if (kind === "actuator" && actuators)
    return `<${r.pick(["actuatorpos", "actuatorvel", "actuatorfrc"])} actuator="a${r.whole(0, actuators - 1)}"/>`;
  if (kind === "site" && made.sites.length) {
    return `<${r.pick(["gyro", "accelerometer", "velocimeter", "touch", "force", "torque"])} site="${r.pick(made.sites)}"${cutoff}/>`;
  }
  if (kind === "frame") {
    const what = r.pick(["pos", "quat", "xaxis", "yaxis", "zaxis", "linvel", "angvel", "linacc", "angacc"]);
    const [type, object] = frame();
    const [reftype, reference] = frame();
    // accelerations have no reference frame
    const relative = !what.endsWith("acc") && r.chance(0.4) ? ` reftype="${reftype}" refname="${reference}"` : "";
    return `<frame${what} objtype="${type}" objname="${object}"${relative}/>`;
  }
  if (kind === "subtree")
    return `<${r.pick(["subtreecom", "subtreelinvel", "subtreeangmom"])} body="${r.pick(made.names)}"/>`;
  return kind === "clock" ? `<clock/>` : undefined;
}

function option(r: Random, fixed: Readonly<Record<string, string | number>>): string {
  const drawn: Record<string, string | number> = {
    timestep: r.pick([0.001, 0.002, 0.003, 0.005]),
    integrator: r.pick(["Euler", "Euler", "RK4", "implicitfast", "implicit"]),
    cone: r.pick(["pyramidal", "elliptic"]),
    solver: r.pick(["Newton", "Newton", "CG"]),
    impratio: r.pick([1, 1, 2, 10]),
    gravity: r.chance(0.8) ? "0 0 -9.81" : list(r.between(-2, 2), r.between(-2, 2), r.between(-9, -4)),
    // to the optimum, so that solvers can be compared
    iterations: 200,
    tolerance: 1e-12,
    ls_iterations: 100,
  };
  const flags: string[] = [];
  for (const flag of [
    "gravity",
    "clampctrl",
    "refsafe",
    "filterparent",
    "eulerdamp",
    "warmstart",
    "spring",
    "damper",
    "limit",
    "frictionloss",
    "midphase",
  ]) {
    if (r.chance(0.04)) flags.push(`${flag}="disable"`);
  }
  return `<option${attributes({ ...drawn, ...fixed })}><flag ${flags.join(" ")}/></option>`;
}

/**
 * A random model as MJCF text: one to three trees over a floor, with random joints, geoms, actuators, sensors, tendons,
 * contact parameters and options. The same seed gives the same text; every text compiles and is supported.
 */
export function createMjcf(seed: number, options: MjcfOptions = {}): string {
  const random = createRandom(seed);
  const made: Made = {
    random,
    allow: {
      bodies: 8,
      contacts: true,
      actuators: true,
      sensors: true,
      limits: true,
      frictionloss: true,
      tendons: true,
      equalities: true,
      ...options,
    },
    bodies: 0,
    names: [],
    joints: [],
    geoms: [],
    rounds: [],
    sites: [],
  };
  const head = option(random, options.option ?? {});
  const trees: string[] = [];
  for (let i = random.whole(1, 3); i > 0 && made.bodies < made.allow.bodies; i--) trees.push(body(made, 3, true));
  // something must move
  if (made.joints.length === 0)
    trees.push(`<body name="mover" pos="0 0 2">${joint(made, "hinge")}${geom(made, "sphere")}</body>`);
  if (!made.names.includes("mover") && trees.at(-1)?.includes('name="mover"')) made.names.push("mover");

  const floor = made.allow.contacts
    ? `<geom name="floor" type="plane" size="5 5 0.1" contype="3" conaffinity="3"${solver(random, "")}/>`
    : `<geom name="floor" type="plane" size="5 5 0.1" contype="0" conaffinity="0"/>`;
  const mocap = random.chance(0.2)
    ? `<body name="mocap" mocap="true" pos="${angles(random, 0.5)}"><geom type="sphere" size="0.1" contype="${made.allow.contacts ? 3 : 0}" conaffinity="0"/></body>`
    : "";

  const contact = contactPairs(made);
  const fixed = fixedTendons(made);
  const tendon = [...fixed, ...spatialTendons(made, fixed.length)];
  const actuators = made.allow.actuators
    ? Array.from({ length: random.whole(0, 5) }, (_, i) => actuator(made, i, tendon.length))
    : [];
  const sensors = made.allow.sensors
    ? Array.from({ length: random.whole(0, 10) }, () => sensor(made, actuators.length)).filter((s) => s !== undefined)
    : [];
  const equality = equalities(made, tendon.length);

  return `<mujoco model="random_${seed}">
${head}
<worldbody>
${floor}
${mocap}
${trees.join("\n")}
</worldbody>
<contact>${contact.join("\n")}</contact>
<tendon>${tendon.join("\n")}</tendon>
<equality>${equality.join("\n")}</equality>
<actuator>${actuators.join("\n")}</actuator>
<sensor>${sensors.join("\n")}</sensor>
</mujoco>
`;
}
