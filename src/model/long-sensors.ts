// sensors of many numbers, which are read in loops: images of cameras, and points of touch
import { mjtObj, mjtSensor } from "./enums.ts";
import type { Model } from "./model.ts";

/** Numbers of such a sensor at most: a world holds them beside all that it computes with. */
export const LONG_MOST = 16384;

/** Whether a sensor is a rangefinder with a ray for each pixel of a camera. */
export const isImage = (model: Model, sensor: number): boolean =>
  model.sensor_type[sensor] === mjtSensor.RANGEFINDER && model.sensor_objtype[sensor] === mjtObj.CAMERA;

const isTactile = (model: Model, sensor: number): boolean => model.sensor_type[sensor] === mjtSensor.TACTILE;

/** Whether a sensor has many numbers. */
export const isLong = (model: Model, sensor: number): boolean => isImage(model, sensor) || isTactile(model, sensor);

/** Whether any sensor of the model has. */
export const hasLongSensors = (model: Model): boolean =>
  Array.from({ length: model.nsensor }, (_, i) => i).some((i) => isLong(model, i));
