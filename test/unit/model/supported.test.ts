import { describe, expect, test } from "vitest";
import { CorralError } from "../../../src/core/errors.ts";
import { loadModel } from "../../../src/model/model.ts";
import { checkSupported, unsupportedFeatures } from "../../../src/model/supported.ts";
import { ENV_MODELS, loadTestModel, TEST_MODELS } from "../../support/mjcf.ts";
import { createMjcf } from "../../support/random-mjcf.ts";

/** A model of a hinge "j" on body "b", with more elements put into it. */
function wrap(more: { option?: string; world?: string; joint?: string; body?: string; rest?: string }): string {
  return `<mujoco>${more.option ?? ""}<worldbody>${more.world ?? ""}
    <body name="b" pos="0 0 1"><joint name="j" axis="0 1 0" ${more.joint ?? ""}/><geom name="g" size="0.1"/>
    <site name="s"/>${more.body ?? ""}</body></worldbody>${more.rest ?? ""}</mujoco>`;
}

const BALL = `<body><joint name="ball" type="ball"/><geom size="0.1"/></body>`;

const REFUSED: readonly [string, string, string][] = [
  [
    "disable flag nativeccd with cylinder-cylinder",
    wrap({
      option: `<option><flag nativeccd="disable"/></option>`,
      world: `<geom name="w" type="cylinder" size="1 1"/>`,
      body: `<geom name="x" type="cylinder" size="1 1"/>`,
    }),
    `geom "w" with geom "x"`,
  ],
  [
    "actuator gaintype so3",
    wrap({ body: BALL, rest: `<actuator><orientation name="m" joint="ball" kp="1"/></actuator>` }),
    `actuator "m"`,
  ],
  [
    "sensor tactile that may touch a height field",
    wrap({
      option: `<asset><mesh name="m" builtin="sphere" params="0"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>`,
      world: `<geom name="w" type="hfield" hfield="h"/>`,
      rest: `<sensor><tactile name="x" geom="g" mesh="m"/></sensor>`,
    }),
    `sensor "x" at geom "w"`,
  ],
  [
    "sensor rangefinder of more than 16384 numbers",
    wrap({
      world: `<camera name="c" resolution="128 129"/>`,
      rest: `<sensor><rangefinder name="x" camera="c"/></sensor>`,
    }),
    `sensor "x" of 16512: lower its resolution or leave out data`,
  ],
  [
    "body_mass that no float32 holds (3.4e38 at most)",
    wrap({ world: `<body name="star"><freejoint/><geom size="1" mass="1e40"/></body>` }),
    `body "star" (1e+40)`,
  ],
  [
    "body_pos that no float32 holds (3.4e38 at most)",
    wrap({ world: `<body name="post" pos="0 -1e300 0"><geom size="1"/></body>` }),
    `body "post" (-1e+300)`,
  ],
  ["qpos0 that no float32 holds (3.4e38 at most)", wrap({ joint: `type="slide" ref="1e39"` }), `joint "j" (1e+39)`],
  ["dof_damping that no float32 holds (3.4e38 at most)", wrap({ joint: `damping="1e39"` }), `joint "j" (1e+39)`],
  [
    "gravity that no float32 holds (3.4e38 at most)",
    wrap({ option: `<option gravity="0 0 -1e39"/>` }),
    "<option> (-1e+39)",
  ],
];

describe("unsupported features are refused", () => {
  test.each(REFUSED)("%s", async (feature, xml, element) => {
    const features = unsupportedFeatures(await loadModel(xml));
    expect(features.map((f) => f.feature)).toContain(feature);
    expect(features.find((f) => f.feature === feature)!.elements).toContain(element);
  });

  test("all in one error, each with its elements", async () => {
    const model = await loadModel(
      wrap({
        option: `<option timestep="0"/>`,
        world: `<camera name="c" resolution="128 129"/>`,
        body: BALL,
        rest: `<actuator><orientation name="m" joint="ball" kp="1"/></actuator><sensor>${`<rangefinder camera="c"/>`.repeat(7)}</sensor>`,
      }),
    );
    let error: unknown;
    try {
      checkSupported(model);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(CorralError);
    const { code, message, details } = error as CorralError;
    expect(code).toBe("unsupported-feature");
    expect(details.features).toEqual([
      "timestep not greater than 0",
      "transmission so3",
      "actuator gaintype so3",
      "actuator biastype so3",
      "sensor rangefinder of more than 16384 numbers",
    ]);
    expect(message).toContain(`actuator gaintype so3: actuator "m"`);
    expect(message).toContain(
      "sensor rangefinder of more than 16384 numbers: sensor 0 of 16512: lower its resolution or leave out data, sensor 1",
    );
    expect(message).toContain("and 2 more");
  });
});

const ACCEPTED: readonly [string, string][] = [
  ["a visual mesh-like geom", wrap({ world: `<geom type="ellipsoid" size="1 1 1" contype="0" conaffinity="0"/>` })],
  ["wind without density", wrap({ option: `<option wind="1 0 0"/>` })],
  [
    "energy",
    wrap({
      option: `<option><flag energy="enable" fwdinv="enable" invdiscrete="enable" diagexact="enable"/></option>`,
    }),
  ],
  [
    "islands off",
    wrap({
      option: `<option><flag island="disable" midphase="disable" nativeccd="disable" multiccd="disable" autoreset="disable"/></option>`,
    }),
  ],
  ["no world at all", `<mujoco/>`],
];

describe("supported models pass", () => {
  test.each(ACCEPTED)("%s", async (_, xml) => {
    expect(unsupportedFeatures(await loadModel(xml))).toEqual([]);
  });

  test.each([...TEST_MODELS, ...ENV_MODELS.map((n) => `envs/${n}`)])("%s", async (name) => {
    expect(unsupportedFeatures(await loadTestModel(name))).toEqual([]);
  });

  test("random models, seeds 0 to 99", async () => {
    for (let seed = 0; seed < 100; seed++) {
      const model = await loadModel(createMjcf(seed));
      expect([seed, unsupportedFeatures(model), model.warnings]).toEqual([seed, [], []]);
    }
  });
});
