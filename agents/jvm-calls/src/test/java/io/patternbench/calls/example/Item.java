package io.patternbench.calls.example;

/** A record, whose accessor is a method like any other. */
public record Item(int number) {}
