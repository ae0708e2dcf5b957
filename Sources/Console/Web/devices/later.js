// Parts of a page that are loaded when they are first shown.

import { show, signal } from "../view.js";

/** @import { Child } from "../types.d.ts" */

/**
 * Shows what a module makes once it is loaded. A failure is that of the page.
 *
 * @template M
 * @param {() => Promise<M>} load
 * @param {(module: M) => Child} render
 */
export function later(load, render) {
  const module = signal(/** @type {{ loaded?: M, error?: unknown }} */ ({}));
  load().then((loaded) => { module.value = { loaded }; }, (error) => { module.value = { error }; });
  return show(() => Object.keys(module.value).length > 0, () => {
    const { loaded, error } = module.value;
    if (loaded === undefined) throw error;
    return render(loaded);
  });
}
