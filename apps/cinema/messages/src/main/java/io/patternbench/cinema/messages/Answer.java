package io.patternbench.cinema.messages;

/**
 * What a cinema says to a request.
 *
 * @param status as over HTTP
 * @param json as over HTTP: what was asked for, or problem details where the status is 400 or more
 */
public record Answer(String cinema, int status, byte[] json) {
  public boolean failed() {
    return status >= 400;
  }
}
