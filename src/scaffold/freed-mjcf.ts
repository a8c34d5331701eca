// the text of an MJCF with a free joint in place of the joints by which its base floats
import { isAbsolute, posix } from "../core/path.ts";
import { inLine } from "../core/show.ts";
import { mjtJoint, mjtObj } from "../model/enums.ts";
import { describe, nameOf, type Model } from "../model/model.ts";
import type { SlidingBase } from "./feet.ts";
import { freeKeys } from "./free-keys.ts";
import { allOf, attributeEdit, attributeOf, edited, elementsIn, removal, withIncludes } from "./mjcf-text.ts";
import type { Edit, TextElement } from "./mjcf-text.ts";
import { escaped } from "../core/xml-text.ts";

/** A text that was changed, and in words what of it is not as it was. */
export interface FreedMjcf {
  readonly text: string;
  readonly notes: readonly string[];
}

/** Numbers of a keyframe as a text has them. */
const written = (list: readonly number[]): string => list.map((x) => String(Number(x.toPrecision(12)))).join(" ");

/** What all sections of a name hold. */
const within = (root: TextElement, section: string): TextElement[] =>
  root.children.filter(({ name }) => name === section).flatMap(({ children }) => children);

/** The element of a body, by its name, or its place where each body is an element. */
function bodyIn(root: TextElement, model: Model, body: number): TextElement | undefined {
  const bodies = within(root, "worldbody")
    .flatMap(allOf)
    .filter(({ name }) => name === "body");
  const name = nameOf(model, "body", body);
  if (name !== "") return bodies.find((element) => attributeOf(element, "name") === name);
  return bodies.length === model.nbody - 1 ? bodies[body - 1] : undefined;
}

/** The joints of a body, some of them within frames. */
const jointsOf = ({ children }: TextElement): TextElement[] =>
  children.flatMap((child) => (child.name === "frame" ? jointsOf(child) : child.name === "joint" ? [child] : []));

/** Files that an MJCF names by their folders, as another folder has them: what it says of that is said again, and holds. */
function foldersEdits(xml: string, root: TextElement, up: string): Edit[] {
  if (up === ".") return [];
  const folders = { meshdir: "", texturedir: "" };
  for (const compiler of root.children.filter(({ name }) => name === "compiler")) {
    const all = attributeOf(compiler, "assetdir");
    for (const each of ["meshdir", "texturedir"] as const)
      folders[each] = attributeOf(compiler, each) ?? all ?? folders[each];
  }
  const moved = (path: string) => (isAbsolute(path) ? path : posix.join(up, path));
  const said = Object.entries(folders).map(([name, path]) => `${name}="${escaped(moved(path))}"`);
  const models = within(root, "asset").filter(({ name }) => name === "model");
  const names = models.map((model) =>
    attributeEdit(xml, model, "file", escaped(moved(attributeOf(model, "file") ?? ""))),
  );
  return [
    { from: root.closes, to: root.closes, text: `  <compiler ${said.join(" ")}/>\n` },
    ...names.filter((edit) => edit !== undefined),
  ];
}

/** Sensors of the joints of a base, and of none else, in words. */
const toldSensors = (names: readonly string[]): string[] =>
  names.length === 0
    ? []
    : [
        `Sensors of those joints are left out: ${names.slice(0, 3).map(inLine).join(", ")}${names.length > 3 ? `, and ${names.length - 3} more` : ""}.`,
      ];

/** What those joints had that a free one has not, in words. */
function toldLost(model: Model, { joints }: SlidingBase): string[] {
  const dofs = joints.flatMap((j) =>
    Array.from({ length: model.jnt_type[j] === mjtJoint.BALL ? 3 : 1 }, (_, k) => model.jnt_dofadr[j] + k),
  );
  const lost = [
    ["springs", joints.some((j) => model.jnt_stiffness[j] !== 0)],
    ["ranges", joints.some((j) => model.jnt_limited[j] > 0)],
    ["damping", dofs.some((d) => model.dof_damping[d] !== 0)],
    ["friction", dofs.some((d) => model.dof_frictionloss[d] !== 0)],
    ["armature", dofs.some((d) => model.dof_armature[d] !== 0)],
  ].flatMap(([name, isThere]) => (isThere === true ? [name] : []));
  return lost.length === 0 ? [] : [`A free joint has none of what those had: ${lost.join(", ")}.`];
}

/**
 * The text of a model, with all that it includes, whose base floats by a free joint; its files are those of a folder that is
 * `up` from where the text is to be. Undefined where its joints are not found in the text, as where a model attaches them.
 */
export async function freedMjcf(model: Model, base: SlidingBase, up: string): Promise<FreedMjcf | undefined> {
  const xml = withIncludes(model.source);
  const [root] = elementsIn(xml);
  const body = root && bodyIn(root, model, base.body);
  const joints = body ? jointsOf(body) : [];
  const keys = root ? within(root, "keyframe") : [];
  if (root === undefined || joints.length !== base.joints.length || keys.length !== model.nkey) return undefined;
  const [first, ...others] = joints;
  const own = new Set(base.joints.map((j) => nameOf(model, "joint", j)));
  const free = ["root", "free", "new_task_root"].find((name) => own.has(name) || !model.names.joint.includes(name));
  const sensors = within(root, "sensor").filter((sensor) => {
    const joint = attributeOf(sensor, "joint") ?? "";
    return joint !== "" && own.has(joint);
  });
  const states = keys.length > 0 ? await freeKeys(model, base) : [];
  const keyed = keys.flatMap((key, k) =>
    (["qpos", "qvel"] as const).flatMap((name) => attributeEdit(xml, key, name, written(states[k][name])) ?? []),
  );
  const edits = [
    { from: first.from, to: first.to, text: `<freejoint name="${free}"/>` },
    ...[...others, ...sensors].map((element) => removal(xml, element)),
    ...keyed,
    ...foldersEdits(xml, root, up),
  ];
  const were = base.hasBall ? "a ball joint" : "three hinges";
  const unnamed = Array.from(model.sensor_objtype.keys()).filter(
    (s) => model.sensor_objtype[s] === mjtObj.JOINT && base.joints.includes(model.sensor_objid[s]),
  );
  return {
    text: edited(xml, edits),
    notes: [
      `${describe(model, "body", base.body)} floats by a free joint there, where it has three slides and ${were}.`,
      ...toldLost(model, base),
      ...toldSensors(unnamed.map((s) => nameOf(model, "sensor", s) || String(s))),
      ...(keyed.length > 0 ? ["Its keyframes have the same poses and speeds, as of a free joint."] : []),
    ],
  };
}
