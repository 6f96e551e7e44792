package io.patternbench.shop.commons.wire;

/** Something to buy. */
public record Product(
    long id, long categoryId, String name, String description, long listPriceInCents) {}
