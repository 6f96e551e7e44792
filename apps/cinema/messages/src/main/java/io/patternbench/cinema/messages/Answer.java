package io.patternbench.cinema.messages;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * What a cinema says to a request.
 *
 * @param status as over HTTP
 * @param body problem details where the status is 400 or more
 */
public record Answer(String cinema, int status, JsonNode body) {}
