// words over the picture: names of bodies, what broke, numbers of what is pointed at. All of it is text, whatever it holds
import { pixelOf, projectionOf, type Point, type View } from "../src/render/camera.ts";
import type { Facts, Frame, WorldValues } from "../src/view/messages.ts";
import { digits, get } from "./dom.ts";
import { SIZES } from "./fields.ts";
import type { Looking, Spot } from "../src/view/looking.ts";

interface Label extends Omit<Spot, "local"> {
  readonly text: string;
  readonly isBad?: boolean;
}

export function putLabels(
  facts: Facts,
  { poses, facts: { step } }: Frame,
  looking: Looking,
  view: View,
  named: boolean,
) {
  const into = get("labels");
  const { scene, reach, bad } = facts;
  const names = scene.bodies.map(({ name }, body): Label => ({ world: looking.world, body, text: name }));
  const wanted = named ? names.filter(({ body, text }) => body > 0 && text !== "") : [];
  if (bad && step >= bad.step) wanted.push({ ...bad, isBad: true });
  const [width, height] = [into.clientWidth, into.clientHeight];
  const matrix = projectionOf(view, width / Math.max(1, height), 0.01 * reach, 100 * reach);
  const spans = wanted.flatMap((label) => {
    const point = looking.placeOf(poses, { ...label, local: [0, 0, 0] }) as unknown as Point;
    const pixel = pixelOf(matrix, point, width, height);
    if (pixel === undefined || !Number.isFinite(pixel[0] + pixel[1])) return [];
    const span = document.createElement("span");
    span.textContent = label.text;
    if (label.isBad) span.className = "bad";
    span.style.left = `${pixel[0]}px`;
    span.style.top = `${pixel[1]}px`;
    return [span];
  });
  into.replaceChildren(...spans);
}

/** Numbers of a body and of its joints, of each world whose values are known. */
export function numbersOf(
  facts: Facts,
  { poses, facts: { values = [] } }: Frame,
  looking: Looking,
  spot: Spot,
): string {
  const { bodies, joints } = facts.scene;
  const { world, body } = spot;
  const offset = looking.offset(world);
  const at = looking.placeOf(poses, { ...spot, local: [0, 0, 0] }).map((x, i) => x - offset[i]);
  const lines = [`${bodies[body].name || `body ${body}`}: xpos ${at.map((x) => digits(x)).join(" ")}`];
  const known = values.filter((of) => of.world === world || facts.ghosts?.length);
  let [q, v] = [0, 0];
  joints.forEach(({ name, type, body: of }, id) => {
    const [nq, nv] = SIZES[type];
    if (of === body) {
      for (const value of known) {
        const whose = facts.ghosts?.includes(value.world) ? ", MuJoCo" : "";
        lines.push(`${name || `joint ${id}`}${whose}: ${rowOf(value, q, nq, v, nv)}`);
      }
    }
    q += nq;
    v += nv;
  });
  return lines.join("\n");
}

function rowOf({ qpos, qvel }: WorldValues, q: number, nq: number, v: number, nv: number): string {
  const numbers = (of: readonly number[], from: number, count: number) =>
    of
      .slice(from, from + count)
      .map((x) => digits(x))
      .join(" ");
  return `qpos ${numbers(qpos, q, nq)}, qvel ${numbers(qvel, v, nv)}`;
}
