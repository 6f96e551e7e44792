package io.patternbench.shop.image;

/** What is to be seen: a product by its number, or something that pages need by its name. */
record Picture(String of, Size size) {}
