package io.patternbench.kit;

/**
 * One thing that is wrong with a round, or that the library cannot express.
 *
 * @param path where in the round, as {@code strategy.retry.jitter}
 * @param value what stands there; null when nothing does
 * @param message what is wrong with it
 * @param allowed what may stand there; null when nothing may
 */
public record Problem(String path, Object value, String message, String allowed) {}
