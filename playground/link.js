// The state of the page in the fragment of its address: settings as parameters, or scenario texts, packed.

import { PRESETS, fromParameters, presetOf, toParameters } from "./settings.js";

/** How a page around an iframe wants it: these parameters stay in the address, and not in links to the whole page. */
const VIEW = ["show", "choose", "wait"];

/**
 * The fragment that stands for a state, without the number sign. A state has `texts`, one or two scenarios
 * in TOML, or `settings`; and `preset`, the name of the example that it is, if it is one.
 */
export async function toFragment({ settings, texts, preset }) {
  const name = preset ? `preset=${preset}&` : "";
  if (!texts) return name + toParameters(settings);
  const packed = await Promise.all(texts.map(pack));
  return name + packed.map((text) => `toml=${text}`).join("&");
}

/** The state that a fragment stands for, and what of it could not be used. */
export async function fromFragment(fragment) {
  const parameters = new URLSearchParams(fragment);
  const packed = parameters.getAll("toml").slice(0, 2);
  const name = parameters.get("preset");
  const preset = Object.hasOwn(PRESETS, name) ? name : undefined;
  if (packed.length > 0) {
    try {
      return { texts: await Promise.all(packed.map(unpack)), preset, problems: [] };
    } catch {
      return { ...fromParameters(new URLSearchParams()), problems: ["toml: the link is not complete"] };
    }
  }
  if (preset && PRESETS[preset].files) return fromFiles(preset);
  const read = fromParameters(parameters);
  return { ...read, preset: presetOf(read.settings) };
}

/** The state of a preset that stands in files. */
export async function fromFiles(preset) {
  try {
    return { texts: await Promise.all(PRESETS[preset].files.map(load)), preset, problems: [] };
  } catch (error) {
    return { ...fromParameters(new URLSearchParams()), problems: [`preset=${preset}: ${error.message}`] };
  }
}

async function load(file) {
  const response = await fetch(new URL(`./scenarios/${file}`, import.meta.url));
  if (!response.ok) throw new Error(`${file}: ${response.status}`);
  return response.text();
}

/** The parameters of a fragment that say how an embedded page looks; `text` is the part of the fragment. */
export function viewOf(fragment) {
  const parameters = new URLSearchParams(fragment);
  const given = VIEW.filter((name) => parameters.has(name)).map((name) => `${name}=${parameters.get(name)}`);
  return {
    kinds: parameters.get("show")?.split(","),
    choose: parameters.get("choose") === "papers",
    wait: parameters.get("wait") === "on",
    text: given.map((entry) => `&${entry}`).join(""),
  };
}

/** A text, compressed, as base64url (RFC 4648 section 5). */
async function pack(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(packed) {
  const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const text = await through(new DecompressionStream("deflate-raw"), bytes);
  return new TextDecoder("utf-8", { fatal: true }).decode(text);
}

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}
