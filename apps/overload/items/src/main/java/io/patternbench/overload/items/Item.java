package io.patternbench.overload.items;

/**
 * An item.
 *
 * @param related the item that a walk from it leads to, which is what makes it costly to look up
 */
record Item(long id, String name, long related) {}
