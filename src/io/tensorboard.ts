// TensorBoard's event files: records with checksums (TFRecord), each a protocol buffer `Event`
import { bytes, float32, float64, integer, message, text } from "./protobuf.ts";

const POLYNOMIAL = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc;
});

/** CRC-32C (Castagnoli), as in RFC 3720. */
export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksum as records have it, so that checksums of data with checksums inside stay good. */
const masked = (data: Uint8Array): number => {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
};

/** A record: length, its checksum, the data, its checksum. */
function record(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(data.length + 16);
  const view = new DataView(out.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, masked(out.subarray(0, 8)), true);
  out.set(data, 12);
  view.setUint32(12 + data.length, masked(data), true);
  return out;
}

/** Fields of `Event`, `Summary`, `Summary.Value` and `SessionLog` (tensorboard/compat/proto). */
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const SUMMARY_VALUE = 1;
const VALUE = { tag: 1, simpleValue: 2 } as const;
const SESSION_STATUS = 1;
const SESSION_START = 1;

/** The first record of a file. `time` is in seconds since 1970. */
export const versionRecord = (time: number): Uint8Array =>
  record(message(float64(EVENT.wallTime, time), text(EVENT.fileVersion, "brain.Event:2")));

/** Tells that what was written of this step and later ones before is void: the run starts again there. */
export const restartRecord = (time: number, step: number): Uint8Array =>
  record(
    message(
      float64(EVENT.wallTime, time),
      integer(EVENT.step, step),
      bytes(EVENT.sessionLog, integer(SESSION_STATUS, SESSION_START)),
    ),
  );

/** Numbers by tag at a step. */
export function scalarsRecord(time: number, step: number, values: Readonly<Record<string, number>>): Uint8Array {
  const all = Object.entries(values).map(([tag, value]) =>
    bytes(SUMMARY_VALUE, message(text(VALUE.tag, tag), float32(VALUE.simpleValue, value))),
  );
  return record(message(float64(EVENT.wallTime, time), integer(EVENT.step, step), bytes(EVENT.summary, message(all))));
}

/** Names that TensorBoard takes for event files; it reads those of a folder in this order. */
export const eventFile = (time: number, host: string, process: number, count: number): string =>
  `events.out.tfevents.${Math.floor(time)}.${host}.${process}.${count}`;
