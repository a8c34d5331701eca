// ellipsoids deep in other geoms, and spheres and capsules deep in hulls: contacts where MuJoCo's search ends, which is not the least overlap
import { expect, test } from "vitest";
import { contactShare } from "../support/contact-share.ts";
import { anyhow, BALL } from "../support/deep-poses.ts";
import { cylinderPlaces, hullPaths } from "../support/tolerances.ts";

const POSES = 150;
const SEED = 11;

const OTHERS = {
  "a box": `type="box" size=".03 .04 .02"`,
  "a cylinder": `type="cylinder" size=".03 .02"`,
  "a hull": `type="mesh" mesh="ball"`,
  "a sphere": `type="sphere" size=".03"`,
  "a capsule": `type="capsule" size=".02 .03"`,
  "an ellipsoid": `type="ellipsoid" size=".03 .02 .045"`,
};

const CORES = {
  "a sphere": `type="sphere" size=".025"`,
  "a capsule": `type="capsule" size=".02 .03"`,
};

const scene = (
  other: string,
  margin: number,
  first = `type="ellipsoid" size=".026 .035 .015"`,
): string => `<mujoco><asset><mesh name="ball" vertex="${BALL}"/></asset>
<default><geom mass="1" margin="${margin}"/></default><worldbody>
<body><freejoint/><geom ${first}/></body>
<body><freejoint/><geom ${other}/></body></worldbody></mujoco>`;

const cases = Object.entries(OTHERS).flatMap(([name, other]) => [0, 0.01].map((margin) => ({ name, other, margin })));

test.each(cases)(
  "in float64 ellipsoids meet $name where they do in MuJoCo, margin $margin",
  async ({ other, margin }) => {
    const poses = Array.from({ length: POSES }, (_, i) => anyhow(SEED, i));
    const { touching, share } = await contactShare(scene(other, margin), poses, "float64", cylinderPlaces.apart.value);
    expect(touching).toBeGreaterThan(POSES / 2);
    expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThan(hullPaths.value);
  },
);

const cores = Object.entries(CORES).flatMap(([name, core]) => [0, 0.01].map((margin) => ({ name, core, margin })));

test.each(cores)("in float64 $name meets a hull where it does in MuJoCo, margin $margin", async ({ core, margin }) => {
  const poses = Array.from({ length: POSES }, (_, i) => anyhow(SEED, i));
  const xml = scene(OTHERS["a hull"], margin, core);
  const { touching, share } = await contactShare(xml, poses, "float64", cylinderPlaces.apart.value);
  expect(touching).toBeGreaterThan(POSES / 2);
  expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThan(hullPaths.value);
});
