// writes sealed folders until it is killed; its one argument is where
import { writeSealed } from "../../src/record/sealed.ts";

const files = new Map([1, 2, 3].map((i) => [`part${i}`, new Uint8Array(2 ** 22).fill(i)]));
for (let i = 0; i < 10_000; i++) writeSealed(process.argv[2], `bundle${i}`, {}, files, 2 ** 30);
