// Runs a WebAssembly program of the system interface: node wasi.mjs program.wasm [file for /]
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";
import { argv, exit } from "node:process";

const wasi = new WASI({ version: "preview1", args: argv.slice(2), returnOnExit: true,
                        preopens: { ".": "." } });
const program = await WebAssembly.compile(await readFile(argv[2]));
const instance = await WebAssembly.instantiate(program, wasi.getImportObject());
exit(wasi.start(instance));
