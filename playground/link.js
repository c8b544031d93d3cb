// The state of the page in the fragment of its address: settings as parameters, or scenario texts, packed.

import { fromParameters, toParameters } from "./settings.js";

/**
 * The fragment that stands for a state, without the number sign. A state has `texts`, one or two scenarios
 * in TOML, or `settings`.
 */
export async function toFragment({ settings, texts }) {
  if (!texts) return toParameters(settings);
  const packed = await Promise.all(texts.map(pack));
  return packed.map((text) => `toml=${text}`).join("&");
}

/** The state that a fragment stands for, and what of it could not be used. */
export async function fromFragment(fragment) {
  const parameters = new URLSearchParams(fragment);
  const packed = parameters.getAll("toml").slice(0, 2);
  if (packed.length > 0) {
    try {
      return { texts: await Promise.all(packed.map(unpack)), problems: [] };
    } catch {
      return { ...fromParameters(new URLSearchParams()), problems: ["toml: the link is not complete"] };
    }
  }
  return fromParameters(parameters);
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
