// sensors of the distance between geoms whose shapes MuJoCo searches for it
import { expect, test } from "vitest";
import { createSimulation } from "../../src/index.ts";
import { loadModel } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { fixture } from "../support/fixture.ts";
import { describeHow, HOWS, inputsOf } from "../support/oracle-suite.ts";
import { evaluate } from "../support/stages.ts";
import { stageOf } from "../support/stage-table.ts";
import { convexBounds as bounds } from "../support/tolerances.ts";

const GEOMS = {
  ball: 'type="sphere" size=".2"',
  pill: 'type="capsule" size=".1 .2"',
  egg: 'type="ellipsoid" size=".3 .2 .1"',
  can: 'type="cylinder" size=".2 .15"',
  crate: 'type="box" size=".2 .1 .15"',
  wedge: 'type="mesh" mesh="wedge"',
};
const names = Object.keys(GEOMS);
const PAIRS = names
  .flatMap((a, i) => names.slice(i).map((b) => [a, b === a ? `${b}2` : b]))
  .filter(([a]) => a !== "ball");
const sensor = (kind: string, ends: string) => `<${kind} ${ends} cutoff="3"/>`;

const XML = `<mujoco><option ccd_tolerance="1e-12" ccd_iterations="200"><flag contact="disable"/></option>
  <asset><mesh name="wedge" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .3 .4 .3 0 .2 .1 .4"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 .1"/>
    ${names.map((name) => ["", "2"].map((n) => `<body name="${name}${n}"><freejoint/><geom name="${name}${n}" ${GEOMS[name as keyof typeof GEOMS]}/></body>`).join("")).join("")}
    <body name="pair"><freejoint/><geom type="cylinder" size=".1 .2"/><geom pos=".5 0 0" type="box" size=".1 .1 .1"/></body>
  </worldbody>
  <sensor>${[
    ...PAIRS.map(([a, b]) => sensor("distance", `geom1="${a}" geom2="${b}"`)),
    sensor("normal", 'geom1="wedge" geom2="egg"'),
    sensor("fromto", 'geom1="wedge" geom2="egg"'),
    sensor("distance", 'geom1="wedge" geom2="floor"'),
    sensor("distance", 'body1="pair" body2="can"'),
    sensor("fromto", 'body1="crate" body2="pair"'),
  ].join("")}</sensor></mujoco>`;

test("the distance of any two geoms, its direction and its ends are MuJoCo's", async () => {
  const f = await fixture(await loadModel(XML), [1, 2, 3, 4, 5, 6]);
  const inputs = f.truths.map((t) => inputsOf(f, t));
  for (const how of HOWS) {
    const results = await evaluate(f.model, stageOf("sensor"), inputs, how);
    results.forEach(({ sensordata }, i) => {
      const truth = f.truths[i];
      truth.fields.sensordata.forEach((value, k) => {
        const isLength = k < PAIRS.length;
        const bound = isLength ? bounds.distance99.value : bounds.normal99.value;
        expect(Math.abs(sensordata[k] - value), `${truth.label}, ${describeHow(how)}: ${k}`).toBeLessThanOrEqual(bound);
      });
    });
  }
});

const CAN = `type="cylinder" size=".1 .15"`;

// where the second geom is: rounding does not end the search of these in float64, whose parts take up to 600 turns together
test.each([
  [
    `type="ellipsoid" size=".1 .1 .2"`,
    `type="box" size=".2 .15 .1"`,
    [-1.4192, 0.3603, -0.2369, 0.9683, -0.175, 0.0524, -0.1701],
  ],
  [CAN, CAN, [-0.5746, 0.5513, -0.4518, 0.6205, -0.2929, -0.0456, 0.726]],
  [CAN, CAN, [0.582, -0.2159, -0.1498, -0.314, -0.1209, 0.7222, 0.6043]],
])("a distance is not missed in float64: of %s and %s", async (first, second, pose) => {
  const model = await loadModel(`<mujoco><option><flag contact="disable"/></option><worldbody><geom name="a" ${first}/>
    <body><freejoint/><geom name="b" ${second}/></body></worldbody>
    <sensor><distance geom1="a" geom2="b" cutoff="9"/></sensor></mujoco>`);
  using oracle = await createOracle(model);
  const poses = Array.from({ length: 60 }, (_, i) =>
    pose.map((x, k) => Math.fround(x + (i % 2 ? 1 : -1) * 1e-5 * ((i >> 1) - k))),
  );
  const theirs = poses.map((qpos) => {
    oracle.write("qpos", Float64Array.from(qpos));
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    return oracle.data.sensordata[0];
  });
  const options = { numEnvs: poses.length, device: "wasm", arithmetic: "float64", outputs: ["sensordata"] } as const;
  await using simulation = await createSimulation(model, options);
  await simulation.setState({ qpos: Float64Array.from(poses.flat()) });
  simulation.forward();
  const { sensordata } = await simulation.getState(["sensordata"]);
  theirs.forEach((dist, i) =>
    expect(Math.abs(sensordata[i] - dist), poses[i].join(" ")).toBeLessThan(bounds.distance99.value),
  );
});
