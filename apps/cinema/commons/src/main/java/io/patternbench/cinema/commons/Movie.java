package io.patternbench.cinema.commons;

import java.util.List;

/** A movie and when it is shown; times of a day as {@code 18:00}. */
public record Movie(String id, String name, List<String> showTimes) {}
