// Asking the worker. What it can't give it says in words, and those are shown.

export class Said extends Error {
  constructor(words, status) {
    super(words);
    this.status = status;
  }
}

export async function ask(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given);
  let response;
  try {
    response = await fetch(`/api/${path}${query.size ? `?${query}` : ""}`, { signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Said("The worker does not answer. It may have stopped.", 0);
  }
  let document;
  try {
    document = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Said(`The worker gave no answer that makes sense (${response.status}).`, response.status);
  }
  if (!response.ok) throw new Said(document.error ?? `The worker refuses (${response.status}).`, response.status);
  return document;
}
