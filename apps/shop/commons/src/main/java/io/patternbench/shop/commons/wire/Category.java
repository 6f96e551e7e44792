package io.patternbench.shop.commons.wire;

/** A shelf of the shop. */
public record Category(long id, String name, String description) {}
