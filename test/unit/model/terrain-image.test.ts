// terrains from pictures: how high they are, and what is refused
import { describe, expect, test } from "vitest";
import { terrainFromImage } from "../../../src/model/terrain/image.ts";
import { patchAt } from "../../../src/model/terrain/terrain.ts";
import { png as encodePng } from "../../../src/render/png.ts";

describe("a terrain from a picture", () => {
  // a row of three greys above one of black
  const PIXELS = [0, 128, 255, 0, 0, 0].map((grey) => [grey, grey, grey, 255]).flat();

  test("is as high as the picture is bright", async () => {
    const png = new Uint8Array(encodePng({ width: 3, height: 2, rgba: Uint8Array.from(PIXELS) }));
    const t = await terrainFromImage(png, { height: 2, cell: 0.5 });
    expect([t.ncol, t.nrow, t.cell]).toEqual([3, 2, 0.5]);
    const heights = Array.from(t.heights, (h) => h * t.unit);
    // the picture's top is the far side
    expect(heights.slice(0, 3)).toEqual([0, 0, 0]);
    expect(heights.slice(3)).toEqual([0, expect.closeTo((2 * 128) / 255, 3), 2]);
  });

  test("stretches the greys that are there; of colours red counts, and alpha does not", async () => {
    const rgba = [50, 60, 70, 70].flatMap((grey, i) => [grey, 255 * (i % 2), 9 * i, 80 * i]);
    const png = new Uint8Array(encodePng({ width: 2, height: 2, rgba: Uint8Array.from(rgba) }));
    const t = await terrainFromImage(png, { height: 2 });
    expect(Array.from(t.heights, (h) => h * t.unit)).toEqual([2, 2, 0, 1]);
  });

  test("its middle is at height 0 between points too", async () => {
    const greys = [0, 51, 255, 255, 51, 102, 255, 255].flatMap((grey) => [grey, grey, grey, 255]);
    for (const [width, height, middle] of [
      [4, 2, 1.4],
      [2, 4, 1.2],
    ]) {
      const png = new Uint8Array(encodePng({ width, height, rgba: Uint8Array.from(greys) }));
      // of the cell about the middle the diagonal from its low corner to its high one
      expect(patchAt(await terrainFromImage(png, { height: 2 }), 0, 0)[2]).toBeCloseTo(middle, 4);
    }
  });

  test("what is no picture is refused", async () => {
    await expect(terrainFromImage(new Uint8Array(8), { height: 1 })).rejects.toMatchObject({
      code: "bad-terrain",
      message: expect.stringMatching(/the picture is no PNG that can be read: .*smaller than a PNG header\. Save/),
    });
    await expect(terrainFromImage(new Uint8Array(0), { height: 1 })).rejects.toThrow(/it is empty/);
    // 24 bytes that say how large it is
    const huge = new Uint8Array(encodePng({ width: 1, height: 1, rgba: new Uint8Array(4) }));
    new DataView(huge.buffer, huge.byteOffset).setUint32(16, 2 ** 23);
    new DataView(huge.buffer, huge.byteOffset).setUint32(20, 3);
    await expect(terrainFromImage(huge, { height: 1 })).rejects.toThrow(
      "the picture has 8388608 x 3 pixels; a terrain has at most 16777216 points. Make it smaller",
    );
    await expect(terrainFromImage("nowhere.png", { height: 1 })).rejects.toMatchObject({ code: "missing-file" });
    // not what stands in the terminal
    await expect(terrainFromImage(0 as never, { height: 1 })).rejects.toThrow(
      "[missing-file] the picture 0 is no path",
    );
  });

  test("what is no surface, and what is no option, is refused", async () => {
    const line = new Uint8Array(encodePng({ width: 2, height: 1, rgba: Uint8Array.from(PIXELS.slice(0, 8)) }));
    await expect(terrainFromImage(line, { height: 1 })).rejects.toThrow(
      /has 2 x 1 pixels; a terrain has at least 2 x 2/,
    );
    await expect(terrainFromImage(line, undefined as never)).rejects.toThrow(
      "[bad-option] options of a terrain is undefined; pass an object.",
    );
    const grey = new Uint8Array(encodePng({ width: 2, height: 2, rgba: new Uint8Array(16).fill(9) }));
    await expect(terrainFromImage(grey, { height: 1 })).rejects.toThrow(/one grey, of the 256 that are read/);
    expect([...(await terrainFromImage(grey, { height: 0 })).heights]).toEqual([0, 0, 0, 0]);
    const square = new Uint8Array(encodePng({ width: 3, height: 2, rgba: Uint8Array.from(PIXELS) }));
    await expect(terrainFromImage(square, { height: 1e9 })).rejects.toThrow(/a height of a terrain is \d/);
    await expect(terrainFromImage(line, { height: 1, cel: 1 } as never)).rejects.toThrow(
      /no option "cel"; nearest: cell/,
    );
  });
});
